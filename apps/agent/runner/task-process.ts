import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Timers } from '#kernel';
import { wait, within } from '../client/wait.js';
import { taskMarker } from './environment.js';
import { identityOf, isAlive, isReused } from './process-identity.js';
import type { ProcessIdentity } from './process-identity.js';
import { marked, processTable, treeOf } from './process-table.js';
import type { ProcessInfo } from './process-table.js';
import { parseExit, SUPERVISOR } from './supervisor.js';
import type { ExitRecord } from './supervisor.js';
import type { TaskFolder } from './task-folder.js';

const ADOPTED_POLL = 200;

/**
 * A task's processes: a supervisor that leads a process group of its own, and everything below it. It lives as long as
 * its supervisor, whether or not an agent looks on; `exited` resolves when that one is gone.
 */
export class TaskProcess {
  private constructor(
    readonly identity: ProcessIdentity,
    readonly exited: Promise<void>,
    private readonly folder: TaskFolder,
    private readonly timers: Timers,
  ) {}

  /** Starts `command` (its program as an absolute path) in the task's folder, output going straight to its files. `begun` is called at the first moment. */
  static async start(
    command: readonly string[],
    environment: Record<string, string>,
    folder: TaskFolder,
    timers: Timers,
    begun: (pid: number) => void,
  ): Promise<TaskProcess> {
    const stdout = openSync(folder.stdout, 'a', 0o600);
    const stderr = openSync(folder.stderr, 'a', 0o600);
    try {
      const child = spawn('/bin/sh', ['-c', SUPERVISOR, 'escalon-task', folder.exit, ...command], {
        cwd: folder.work,
        env: environment,
        detached: true,
        stdio: ['ignore', stdout, stderr],
      });
      const pid = child.pid ?? 0;
      begun(pid);
      const identity = identityOf(pid);
      await once(child, 'spawn');
      const exited = once(child, 'exit').then(() => undefined);
      child.unref();
      return new TaskProcess(identity, exited, folder, timers);
    } finally {
      closeSync(stdout);
      closeSync(stderr);
    }
  }

  /** Takes back a process that an earlier agent started. Its parent is gone, so its end has to be looked for. */
  static adopt(identity: ProcessIdentity, folder: TaskFolder, timers: Timers): TaskProcess {
    const gone = async (): Promise<void> => {
      while (isAlive(identity)) await wait(timers, ADOPTED_POLL);
    };
    return new TaskProcess(identity, gone(), folder, timers);
  }

  /** The process that carries the task's mark and leads its group, if one is running: what a crash left unrecorded. */
  static findUnrecorded(folder: TaskFolder): ProcessIdentity | undefined {
    const leader = marked(processTable(), taskMarker(folder)).find(({ pid, group }) => pid === group);
    return leader && identityOf(leader.pid);
  }

  /** How the task ended; undefined when its supervisor was killed before it could tell. */
  async exitRecord(): Promise<ExitRecord | undefined> {
    return parseExit(await readFile(this.folder.exit, 'utf8').catch(() => ''));
  }

  pause(): void {
    this.signalGroup('SIGSTOP');
  }

  resume(): void {
    this.signalGroup('SIGCONT');
  }

  /** Asks the whole group to end, then makes it: SIGTERM, `grace` milliseconds, SIGKILL. Resolves when all are gone. */
  async end(grace: number): Promise<void> {
    this.signalGroup('SIGTERM');
    this.signalGroup('SIGCONT');
    await within(this.timers, grace, this.exited);
    await this.sweep();
    await this.exited;
  }

  /** Kills whatever of the task is left, also what fled from its group, until a look finds nothing. */
  async sweep(): Promise<void> {
    for (let round = 0; round < 50; round += 1) {
      this.signalGroup('SIGKILL');
      const left = this.members(processTable());
      if (left.length === 0) return;
      for (const { pid } of left) send(pid, 'SIGKILL');
      await wait(this.timers, 20);
    }
  }

  private members(table: readonly ProcessInfo[]): ProcessInfo[] {
    const tree = isReused(this.identity) ? [] : treeOf(table, this.identity.pid);
    return [...tree, ...marked(table, taskMarker(this.folder))].filter(
      ({ state, pid }) => state !== 'Z' && state !== 'X' && pid !== process.pid,
    );
  }

  private signalGroup(signal: NodeJS.Signals): void {
    if (!isReused(this.identity)) send(-this.identity.pid, signal);
  }
}

const send = (pid: number, signal: NodeJS.Signals): void => {
  try {
    if (pid !== 0 && pid !== -1 && pid !== 1) process.kill(pid, signal);
  } catch {
    // Gone already: what was wanted.
  }
};
