import { createHash } from 'node:crypto';
import { readProcFile } from './proc-file.js';
import type { ProcessInfo } from './process-table.js';
import type { TaskFolder } from './task-folder.js';

/** Marks lie in 2^41…2^42 KiB: beyond any machine's memory, and exact as bytes in a double. */
const LOWEST = 2 ** 41;

/**
 * The number in KiB that marks all processes of a task, for good: the supervisor makes it its limit of resident memory. Linux
 * has not enforced that limit since 2.4.30 but hands it down to every child and through every exec, and nobody without
 * privilege can raise it. So a daemon is still known after it left session and parent and cleared its environment. It
 * follows from the folder alone, which a later agent knows too.
 */
export const limitMark = ({ root }: TaskFolder): number =>
  LOWEST + createHash('sha256').update(root).digest().readUIntBE(0, 5);

/** The mark in the text of `/proc/PID/limits`; undefined for a process without one. */
export const parseMark = (limits: string): number | undefined => {
  const hard = Number(/^Max resident set +\S+ +(\d+) /m.exec(limits)?.[1] ?? 0) / 1024;
  return hard >= LOWEST && hard < 2 * LOWEST ? hard : undefined;
};

/** The mark that a process carries now. Everybody may read it, whoever the process belongs to. */
export const markOf = (pid: number): number | undefined => parseMark(readProcFile(`/proc/${pid}/limits`) ?? '');

/**
 * The variable that marks a task's processes too, where a shell cannot set the limit. Its value names the agent's own folder, so
 * agents side by side never take each other's.
 */
export const variableMark = (folder: TaskFolder): string => `${MARKED_VARIABLE}=${folder.progress}`;

export const MARKED_VARIABLE = 'ESCALON_PROGRESS_FILE';

/** The environment that a process was started with, as `NAME=value`; empty for those of other users. */
export const environmentOf = (pid: number): readonly string[] =>
  readProcFile(`/proc/${pid}/environ`)?.split('\0') ?? [];

/** Reads each process's mark once: it is born with it. The supervisor, which marks itself, is known by its number. */
export class KnownMarks {
  private known = new Map<string, number | undefined>();

  readonly of = (process: ProcessInfo): number | undefined => {
    const key = `${process.pid}:${process.startTime}`;
    if (!this.known.has(key)) this.known.set(key, markOf(process.pid));
    return this.known.get(key);
  };

  /** Forgets all that are not in the table. */
  keep(table: readonly ProcessInfo[]): void {
    const keys = table.map(({ pid, startTime }) => `${pid}:${startTime}`);
    this.known = new Map(keys.flatMap((key) => (this.known.has(key) ? [[key, this.known.get(key)]] : [])));
  }
}
