import { readdirSync } from 'node:fs';
import { readProcFile } from './proc-file.js';

/** One line of the machine's process table. CPU in clock ticks, `startTime` in ticks since boot, `memory` in bytes. */
export interface ProcessInfo {
  readonly pid: number;
  readonly state: string;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  readonly cpuTicks: number;
  readonly startTime: number;
  readonly memory: number;
}

const PAGE = 4096;
/** USER_HZ: fixed at 100 in the interface of every Linux architecture that Node runs on. */
export const TICKS_PER_SECOND = 100;

/** Parses `/proc/PID/stat`. The command's name may hold spaces and brackets, so fields count from the last `)`. */
export const parseStat = (text: string): ProcessInfo | undefined => {
  const close = text.lastIndexOf(')');
  const fields = text.slice(close + 2).split(' ');
  if (close < 0 || fields.length < 22) return undefined;
  const field = (index: number): number => Number(fields[index]);
  return {
    pid: Number.parseInt(text, 10),
    state: fields[0] ?? '?',
    parent: field(1),
    group: field(2),
    session: field(3),
    cpuTicks: field(11) + field(12),
    startTime: field(19),
    memory: field(21) * PAGE,
  };
};

/** The process with this id, or undefined when there is none (or no `/proc` on this system). */
export const processInfo = (pid: number): ProcessInfo | undefined => {
  const text = readProcFile(`/proc/${pid}/stat`);
  return text === undefined ? undefined : parseStat(text);
};

/** All processes now. Empty on systems without `/proc`. */
export const processTable = (): ProcessInfo[] => {
  try {
    return readdirSync('/proc').flatMap((name) => {
      const info = /^\d+$/.test(name) ? processInfo(Number(name)) : undefined;
      return info ? [info] : [];
    });
  } catch {
    return [];
  }
};

/** Whether a process has ended, its parent not having asked for its exit status yet. */
export const isOver = ({ state }: ProcessInfo): boolean => state === 'Z' || state === 'X';

/** Whether a process was stopped by a signal. */
export const isStopped = ({ state }: ProcessInfo): boolean => state === 'T' || state === 't';

/**
 * A task's processes: those that carry its mark, the session and group of its supervisor, and whatever descends from one of
 * them even after it opened a session of its own.
 */
export const treeOf = (
  table: readonly ProcessInfo[],
  leader: number,
  isMarked: (process: ProcessInfo) => boolean = () => false,
): ProcessInfo[] => {
  const isMember = (process: ProcessInfo): boolean =>
    [process.pid, process.group, process.session].includes(leader) || isMarked(process);
  const members = new Set(table.filter(isMember).map(({ pid }) => pid));
  for (let before = -1; before !== members.size;) {
    before = members.size;
    for (const { pid, parent } of table) if (members.has(parent)) members.add(pid);
  }
  return table.filter(({ pid }) => members.has(pid));
};

/** The peak of one process's own memory in bytes, 0 when unknown. */
export const peakMemory = (pid: number): number => {
  const match = /^VmHWM:\s+(\d+) kB$/m.exec(readProcFile(`/proc/${pid}/status`) ?? '');
  return Number(match?.[1] ?? 0) * 1024;
};
