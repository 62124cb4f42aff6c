import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Timers } from '#kernel';
import type { ControlGroup, GroupUsage } from '../cgroup/control-group.js';
import { wait, within } from '../client/wait.js';
import type { Container, ContainerState } from '../containers/container.js';
import { ContainerMembers } from '../containers/members.js';
import { keeperSizes, LOG_KEEPER } from './log-keeper.js';
import { identityOf, isAlive, isReused } from './process-identity.js';
import type { ProcessIdentity } from './process-identity.js';
import { isOver, isStopped, processTable, treeOf } from './process-table.js';
import type { ProcessInfo } from './process-table.js';
import { parseExit, SUPERVISOR } from './supervisor.js';
import type { ExitRecord } from './supervisor.js';
import type { TaskFolder } from './task-folder.js';
import { environmentOf, limitMark, markOf, MARKED_VARIABLE, variableMark } from './task-mark.js';

const ADOPTED_POLL = 200;
const KILL_ROUNDS = 500;
const STOP_ROUNDS = 500;
/** Milliseconds for the supervisor to write the exit file, and for the keepers to store what was written. */
const LAST_WORDS = 5_000;
/** Milliseconds between looks for the exit file of a task that left something running. */
const ENDED_POLL = 500;

/** What to start. */
export interface Launch {
  /** Its program is an absolute path. */
  readonly command: readonly string[];
  readonly folder: TaskFolder;
  /** Bytes of one file that the task may write at most. */
  readonly largestFile: number | undefined;
  /** The control group that the task enters. */
  readonly group: ControlGroup | undefined;
  /** What the command runs to its end, if it is an engine's. */
  readonly container: Container | undefined;
  /** Bytes of each output stream kept on disk at most. */
  readonly logLimit: number;
}

/** Where the supervisor finds what it needs; nothing of the job's own environment is in force there. */
const SUPERVISOR_PATH = '/usr/local/bin:/usr/bin:/bin';
/** The unit of a shell's limit of file sizes, by POSIX. */
const LIMIT_BLOCK = 512;

/**
 * A task's processes: a supervisor that leads a process group of its own, and everything that came from it but the keepers of
 * its log, which end by themselves. It lives as long as its supervisor, whether or not an agent looks on; `exited`
 * resolves when that one is gone.
 *
 * Of a task in a container the supervisor runs the engine's program, which is none of the task's processes: those are below the
 * container's first one, wherever the engine keeps them. Stopping, freezing and counting go by them alike.
 */
export class TaskProcess {
  private readonly isMarked: (process: ProcessInfo) => boolean;
  private readonly mark: number;
  private readonly inside: ContainerMembers | undefined;
  private ending = false;

  private constructor(
    readonly identity: ProcessIdentity,
    readonly exited: Promise<void>,
    private readonly folder: TaskFolder,
    private readonly timers: Timers,
    private readonly group: ControlGroup | undefined,
    private readonly container: Container | undefined,
  ) {
    this.isMarked = marksOf(folder);
    this.mark = limitMark(folder);
    this.inside = container && new ContainerMembers(folder, identity.pid);
  }

  /** Starts a command in the task's folder, output going to its files. `begun` is called at the first moment. */
  static async start(
    { command, folder, largestFile, group, container, logLimit }: Launch,
    timers: Timers,
    begun: (pid: number) => void,
  ): Promise<TaskProcess> {
    const trouble = openSync(folder.trouble, 'a', 0o600);
    try {
      const blocks = largestFile === undefined ? '' : String(Math.ceil(largestFile / LIMIT_BLOCK));
      const limits = [container ? '' : String(limitMark(folder)), blocks, group?.door ?? ''];
      const logs = [folder.stdout, folder.stderr, LOG_KEEPER, ...keeperSizes(logLimit)];
      const args = [folder.exit, ...limits, ...logs, ...command];
      const child = spawn('/bin/sh', ['-c', SUPERVISOR, 'escalon-task', ...args], {
        cwd: folder.work,
        env: { PATH: SUPERVISOR_PATH, [MARKED_VARIABLE]: folder.progress },
        detached: true,
        stdio: ['ignore', 'ignore', trouble],
      });
      const pid = child.pid ?? 0;
      begun(pid);
      const identity = identityOf(pid);
      await once(child, 'spawn');
      const exited = once(child, 'exit').then(() => undefined);
      child.unref();
      return new TaskProcess(identity, exited, folder, timers, group, container);
    } finally {
      closeSync(trouble);
    }
  }

  /** Takes back a process that an earlier agent started. Its parent is gone, so its end has to be looked for. */
  static adopt(
    identity: ProcessIdentity,
    folder: TaskFolder,
    timers: Timers,
    group?: ControlGroup,
    container?: Container,
  ): TaskProcess {
    const gone = async (): Promise<void> => {
      while (isAlive(identity)) await wait(timers, ADOPTED_POLL);
    };
    return new TaskProcess(identity, gone(), folder, timers, group, container);
  }

  /** The process that carries the task's mark and leads its group, if one is running: what a crash left unrecorded. */
  static findUnrecorded(folder: TaskFolder): ProcessIdentity | undefined {
    const isMarked = marksOf(folder);
    const leader = processTable().find((each) => each.pid === each.group && !isOver(each) && isMarked(each));
    return leader && identityOf(leader.pid);
  }

  /** How the task ended; undefined when its supervisor was killed before it could tell. */
  async exitRecord(): Promise<ExitRecord | undefined> {
    return parseExit(await readFile(this.folder.exit, 'utf8').catch(() => ''));
  }

  /**
   * Resolves when the task's command has ended. What it left running may still write, which the supervisor waits for.
   */
  async commandEnded(): Promise<void> {
    const gone = new AbortController();
    void this.exited.then(() => gone.abort());
    while (!gone.signal.aborted && !existsSync(this.folder.exit)) await wait(this.timers, ENDED_POLL, gone.signal);
  }

  /** Those of the table that belong to the task, by what `mark` says of each. */
  membersIn(table: readonly ProcessInfo[], mark: (process: ProcessInfo) => number | undefined): ProcessInfo[] {
    return this.inside?.in(table) ?? this.treeIn(table, (each) => mark(each) === this.mark);
  }

  /**
   * Stops every process where it stands; resolves when a look finds none that moves. One that was told to and waits within the
   * kernel stands too: it stops before it does anything else, and a parent that waits for its child to become another
   * program (vfork) does so for as long as that child is stopped.
   */
  async pause(): Promise<void> {
    if (this.isEnding()) return;
    if (this.group) return this.group.freeze();
    if (this.inside) await this.hasBegun(this.inside);
    else this.signalGroup('SIGSTOP');
    const told = new Set<number>();
    const stands = (each: ProcessInfo): boolean => isStopped(each) || (each.state === 'D' && told.has(each.pid));
    for (let round = 0; round < STOP_ROUNDS && !this.isEnding(); round += 1) {
      const moving = this.members().filter((each) => !stands(each));
      if (moving.length === 0) return;
      for (const { pid } of moving) {
        send(pid, 'SIGSTOP');
        told.add(pid);
      }
      await wait(this.timers, 10);
    }
  }

  async resume(): Promise<void> {
    await this.group?.thaw();
    for (const { pid } of this.members()) send(pid, 'SIGCONT');
  }

  /** Asks every process to end, then makes it: SIGTERM, `grace` milliseconds, SIGKILL. Resolves when all are gone. */
  async end(grace: number): Promise<void> {
    this.ending = true;
    const members = this.inside?.withoutFirst(this.members()) ?? this.members();
    if (this.inside && members.length === 0) return this.kill();
    for (const signal of ['SIGTERM', 'SIGCONT'] as const) for (const { pid } of members) send(pid, signal);
    await this.group?.thaw();
    const late = new AbortController();
    await within(this.timers, grace, this.allGone(late.signal));
    late.abort();
    await this.kill();
    await this.exited;
  }

  /**
   * Kills whatever of the task is left, also what fled from its group, until a look finds nothing. The supervisor comes last: it
   * is to write first how the task ended, and the keepers of its log what it said.
   */
  async kill(): Promise<void> {
    this.ending = true;
    if (this.container) return this.killContainer(this.container);
    await this.group?.kill();
    await this.killAll(() => this.members().filter(({ pid }) => pid !== this.identity.pid));
    this.signalGroup('SIGCONT');
    const gone = await within(
      this.timers,
      LAST_WORDS,
      this.exited.then(() => true),
    );
    if (gone) return;
    this.signalGroup('SIGKILL');
    await this.killAll(() => this.members());
  }

  /** What the kernel counted for the task; undefined without a control group. */
  counted(): GroupUsage | undefined {
    return this.group?.usage();
  }

  /** How its container stands, for as long as it is not put away; undefined for a task without one. */
  async containerState(): Promise<ContainerState | undefined> {
    return this.container?.state();
  }

  /** Puts the control group or the container away, once all is over. */
  async dispose(): Promise<void> {
    await this.group?.remove();
    await this.container?.remove();
  }

  /**
   * Kills what is in the container until its engine's program has ended, which then says how it did. As long as that one lives it may
   * be about to start the container. When it does not end, all of it goes by force.
   */
  private async killContainer(container: Container): Promise<void> {
    const over = new AbortController();
    const gone = within(
      this.timers,
      LAST_WORDS,
      this.exited.then(() => true),
    );
    void gone.then(() => over.abort());
    while (!over.signal.aborted) {
      for (const { pid } of this.members()) send(pid, 'SIGKILL');
      await wait(this.timers, 20, over.signal);
    }
    if (await gone) return this.killAll(() => this.members());
    this.signalGroup('SIGKILL');
    await container.remove();
    await this.killAll(() => this.members());
  }

  /** What is not there yet cannot be stopped where it stands: waits for the program, which comes after the container's init. */
  private async hasBegun(inside: ContainerMembers): Promise<void> {
    const isThere = (): boolean => inside.withoutFirst(this.members()).length > 0;
    while (!this.isEnding() && !isThere() && !existsSync(this.folder.exit)) await wait(this.timers, 20);
  }

  private async killAll(left: () => readonly ProcessInfo[]): Promise<void> {
    for (let round = 0; round < KILL_ROUNDS; round += 1) {
      const found = left();
      if (found.length === 0) return;
      for (const { pid } of found) send(pid, 'SIGKILL');
      await wait(this.timers, 20);
    }
  }

  private async allGone(late: AbortSignal): Promise<void> {
    await this.exited;
    while (!late.aborted && this.members().length > 0) await wait(this.timers, 100, late);
  }

  private isEnding(): boolean {
    return this.ending;
  }

  private members(): ProcessInfo[] {
    const table = processTable();
    const tree = this.inside?.in(table) ?? this.treeIn(table, this.isMarked);
    return tree.filter((each) => !isOver(each) && each.pid !== process.pid);
  }

  private treeIn(table: readonly ProcessInfo[], isMarked: (process: ProcessInfo) => boolean): ProcessInfo[] {
    const leader = isReused(this.identity) ? Number.NaN : this.identity.pid;
    return withoutKeepers(treeOf(table, leader, isMarked), leader, isMarked);
  }

  /** All that stayed in the group hear it at the same moment; nothing there is quick enough to fork away from it. */
  private signalGroup(signal: NodeJS.Signals): void {
    if (!isReused(this.identity)) send(-this.identity.pid, signal);
  }
}

/**
 * The supervisor's children in sessions of their own keep the task's log. The task's command may open a session too, but
 * carries the mark, which no keeper does.
 */
const withoutKeepers = (
  tree: readonly ProcessInfo[],
  leader: number,
  isMarked: (process: ProcessInfo) => boolean,
): ProcessInfo[] => {
  const isKeeper = (each: ProcessInfo): boolean =>
    each.parent === leader && each.session === each.pid && !isMarked(each);
  const keepers = new Set(tree.filter(isKeeper).map(({ pid }) => pid));
  return tree.filter(({ session }) => !keepers.has(session));
};

const marksOf = (folder: TaskFolder): ((process: ProcessInfo) => boolean) => {
  const [limit, variable] = [limitMark(folder), variableMark(folder)];
  return ({ pid }) => markOf(pid) === limit || environmentOf(pid).includes(variable);
};

const send = (pid: number, signal: NodeJS.Signals): void => {
  try {
    if (pid !== 0 && pid !== -1 && pid !== 1) process.kill(pid, signal);
  } catch {
    // Gone already: what was wanted.
  }
};
