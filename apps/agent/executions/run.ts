import { stat } from 'node:fs/promises';
import type { Assignment, DesiredState } from '#contracts';
import type { Millis } from '#kernel';
import type { GroupUsage } from '../cgroup/control-group.js';
import { progressOf } from '../batches/batches.js';
import type { Batches } from '../batches/batches.js';
import type { ContainerState } from '../containers/container.js';
import { containerFailure } from '../containers/outcome.js';
import type { JournalEntry } from '../journal/entry.js';
import { ProgressReporter } from '../logs/progress-reporter.js';
import type { ProgressTick } from '../logs/progress-lines.js';
import { ProgressWatch } from '../logs/progress-watch.js';
import { newestLines } from '../logs/task-log.js';
import { lastLines } from '../logs/read-range.js';
import { DiskWatch } from '../metering/disk-watch.js';
import type { Meter } from '../metering/meter.js';
import { memoryTogether } from '../metering/shared-memory.js';
import type { ExitRecord } from '../runner/supervisor.js';
import { oomKills } from '../runner/oom.js';
import { classifyExit } from '../runner/outcome.js';
import { isAlive } from '../runner/process-identity.js';
import type { ProcessInfo } from '../runner/process-table.js';
import type { TaskFolder } from '../runner/task-folder.js';
import type { TaskProcess } from '../runner/task-process.js';
import { diagnosticsOf } from './diagnostics.js';
import { failure } from './ending.js';
import type { Ending, Failure } from './ending.js';
import type { ExecutionHost } from './host.js';
import { exceeded, limitsOf, outOfMemory } from './limits.js';
import type { Limits } from './limits.js';
import { RunTimeout } from './run-timeout.js';

/** Of each output stream, in the diagnostics. */
const LINES = 20;

/** When a run began and how long it stood still; kept in the journal. */
export interface RunTimes {
  readonly startedAt: Millis;
  readonly pausedFor: Millis;
  readonly pausedSince?: Millis;
}

/** When its run began, which is `now` if it has not, and how long it stood still. */
export const timesOf = ({ startedAt, pausedFor, pausedSince }: JournalEntry, now: Millis): RunTimes => ({
  startedAt: startedAt ?? now,
  pausedFor,
  ...(pausedSince !== undefined && { pausedSince }),
});

/** The entry with these times in place of its own. */
export const withTimes = ({ pausedSince: _, ...entry }: JournalEntry, times: RunTimes): JournalEntry => ({
  ...entry,
  ...times,
});

/** What there is to watch. */
export interface RunOf {
  readonly assignment: Assignment;
  readonly folder: TaskFolder;
  readonly process: TaskProcess;
  readonly meter: Meter;
  /** Whether an earlier agent started it. */
  readonly adopted: boolean;
  readonly times: RunTimes;
  /** Of a task that is run for one batch after another, as they stand while this one runs. */
  readonly batches?: Batches | undefined;
  /** Resolves when they are on disk, or cannot be. */
  readonly timesChanged: (times: RunTimes) => Promise<void>;
}

/**
 * One task process under watch, from its start (or from when it was taken back) to its end.
 *
 * Modes: *running* samples, passes progress on and counts towards the timeout; *paused* stands still, its clock too,
 * entered and left as the server desires, and found again by a later agent; *ending* was told to stop, by the server, the
 * agent's own end or the timeout, and has the grace to do so. It is over when the supervisor is gone and nothing of the
 * task is left.
 */
export class Run {
  private readonly timeout: RunTimeout;
  private readonly limits: Limits;
  private times: RunTimes;
  private readonly oomBefore = oomKills();
  private stopFailure: Failure | undefined;
  private exited = false;
  private turn = Promise.resolve();

  constructor(
    private readonly host: ExecutionHost,
    private readonly of: RunOf,
  ) {
    this.times = of.times;
    this.limits = limitsOf(of.assignment.contract, host.processLimit, host.enforcement);
    this.timeout = new RunTimeout(
      host.timers,
      () => this.remaining(),
      () => this.stop(timedOut(of.assignment.task.runTimeout ?? 0)),
    );
  }

  /** Looks on until nothing of the task is left, and tells how it ended. */
  async watch(): Promise<{ ending: Ending; endedAt: Millis }> {
    const { process, folder, adopted, batches } = this.of;
    const unwatch = this.host.sampler.watch((table, mark) => this.sample(process.membersIn(table, mark)));
    const disk = new DiskWatch(folder.root, (bytes) => this.sawDisk(bytes), this.host.clock, this.host.timers);
    disk.start(this.limits.disk !== undefined);
    const reporter = new ProgressReporter(this.host.clock, this.host.timers, (tick) => {
      void this.host.reports.send({ type: 'progress', ...this.which(), ...tick });
    });
    const offer = (tick: ProgressTick): void => reporter.offer(batches ? progressOf(batches, tick) : tick);
    if (batches && batches.sequence.batches > 0) offer({ fraction: 0 });
    const progress = new ProgressWatch(folder, this.host.timers, offer, batches?.current?.stdout);
    if (adopted) this.holdOn();
    else this.timeout.set();
    await process.commandEnded();
    this.exited = true;
    const endedAt = await this.endedAt();
    this.timeout.clear();
    unwatch();
    disk.stop();
    await process.kill();
    await disk.look();
    await progress.finish();
    reporter.flush();
    const ending = await this.ending();
    await process.dispose();
    return { ending, endedAt };
  }

  /** Ends the task; the first reason counts. */
  stop(reason: Failure): void {
    if (this.stopFailure || this.exited) return;
    this.stopFailure = reason;
    this.timeout.clear();
    void this.of.process.end(this.host.grace);
  }

  /** Ends a task that uses more than it may, at once: what it would do in the grace is at its neighbours' cost. */
  private cutOff(over: Failure | undefined): void {
    if (!over || this.stopFailure || this.exited) return;
    this.stopFailure = over;
    this.timeout.clear();
    void this.of.process.kill();
  }

  private sample(tree: readonly ProcessInfo[]): void {
    const resident = this.of.meter.sample(tree);
    if (this.host.enforcement !== 'watchdog') return;
    // The cheap count is never too small: only beyond the limit it is worth to look at what is shared.
    const memory = resident > (this.limits.memory ?? Infinity) ? memoryTogether(tree) : resident;
    this.cutOff(exceeded(this.limits, { memory, processes: tree.length }));
  }

  private sawDisk(disk: number): void {
    this.of.meter.sawDisk(disk);
    this.cutOff(exceeded(this.limits, { disk }));
  }

  /** `recorded` is the state that the server knows; a report of it that a crash swallowed is made up for. */
  desire(desired: DesiredState, recorded?: string): void {
    if (this.stopFailure || this.exited) return;
    const paused = this.times.pausedSince !== undefined;
    if (desired === 'pause' && !paused) this.pause();
    else if (desired === 'run' && paused) this.resume();
    else if (recorded === 'running' && paused) this.report('pause');
    else if (recorded === 'paused' && !paused) this.report('resume');
  }

  /** What was recorded of a pause comes before the deed, so a crash between the two is put right here. */
  private holdOn(): void {
    if (!isAlive(this.of.process.identity)) return;
    if (this.times.pausedSince !== undefined) return void this.of.process.pause();
    void this.of.process.resume();
    this.timeout.set();
  }

  private pause(): void {
    this.timeout.clear();
    const saved = this.changeTimes({ ...this.times, pausedSince: this.host.clock.now() });
    this.inTurn(async () => {
      await saved;
      await this.of.process.pause();
      this.report('pause');
    });
  }

  private resume(): void {
    const { startedAt, pausedFor, pausedSince } = this.times;
    const saved = this.changeTimes({ startedAt, pausedFor: pausedFor + this.host.clock.now() - (pausedSince ?? 0) });
    this.timeout.set();
    this.inTurn(async () => {
      await saved;
      await this.of.process.resume();
      this.report('resume');
    });
  }

  /** One after the other, so that a resumption finds all processes stopped, and none is stopped after it. */
  private inTurn(act: () => Promise<void>): void {
    this.turn = this.turn.then(act);
  }

  private changeTimes(times: RunTimes): Promise<void> {
    this.times = times;
    return this.of.timesChanged(times);
  }

  private which(): { executionId: string; fencingToken: number } {
    const { executionId, fencingToken } = this.of.assignment;
    return { executionId, fencingToken };
  }

  private report(type: 'pause' | 'resume'): void {
    void this.host.reports.send({ type, ...this.which() });
  }

  private remaining(): Millis | undefined {
    const { runTimeout } = this.of.assignment.task;
    if (runTimeout === undefined) return undefined;
    return this.times.startedAt + this.times.pausedFor + runTimeout * 1000 - this.host.clock.now();
  }

  /** A process that ended while no agent looked left the time in its exit file. */
  private async endedAt(): Promise<Millis> {
    const now = this.host.clock.now();
    const written = this.of.adopted ? await stat(this.of.folder.exit).catch(() => undefined) : undefined;
    return written ? Math.min(now, Math.round(written.mtimeMs)) : now;
  }

  private async ending(): Promise<Ending> {
    const { process, folder, meter, assignment, batches } = this.of;
    const exit = await process.exitRecord();
    const [stdout, stderr] = await Promise.all(
      (['stdout', 'stderr'] as const).map((name) => newestLines(folder[name], LINES, batches?.current?.[name])),
    );
    const counted = process.counted();
    meter.sawMemory(counted?.peakMemory ?? 0);
    const seen = { exit, stdout: stdout ?? [], stderr: stderr ?? [], measured: meter.measured() };
    const state = await process.containerState();
    const failed =
      this.stopFailure ??
      this.killedByKernel(exit, counted) ??
      this.failureOfContainer(exit, state, seen.stderr) ??
      (await this.failureOf(exit, seen.stderr));
    return {
      ...(exit && { exitCode: exit.code }),
      // What the supervisor counts of a container is the engine's program.
      cpuSeconds: Math.max(state ? 0 : (exit?.cpuSeconds ?? 0), counted?.cpuSeconds ?? 0),
      ...(failed && { failure: failed }),
      diagnostics: diagnosticsOf({ ...seen, contract: assignment.contract, image: state?.image }),
    };
  }

  private failureOfContainer(
    exit: ExitRecord | undefined,
    state: ContainerState | undefined,
    stderrTail: readonly string[],
  ): Failure | undefined {
    const { task, contract } = this.of.assignment;
    if (task.image === undefined) return undefined;
    return containerFailure({ exit, state, stderrTail, program: task.command[0], memory: contract.memory });
  }

  private async failureOf(exit: ExitRecord | undefined, stderrTail: readonly string[]): Promise<Failure | undefined> {
    if (!exit) return this.unexplained();
    const quota = this.limits.disk !== undefined;
    return classifyExit(exit, { stderrTail, oomKills: oomKills() - this.oomBefore, quota });
  }

  /** A child that the kernel ended, and the task got over, is no failure of the task. */
  private killedByKernel(exit: ExitRecord | undefined, counted: GroupUsage | undefined): Failure | undefined {
    if (!counted || counted.oomKills === 0 || exit?.code === 0) return undefined;
    const { memory } = this.of.assignment.contract;
    return outOfMemory(counted.peakMemory ?? memory, memory, { enforcedBy: 'cgroup' });
  }

  private async unexplained(): Promise<Failure> {
    if (this.of.adopted) {
      const reason = 'the task ended while the agent was away, leaving no exit status';
      return failure('infrastructure', 'agent-restarted', reason);
    }
    const trouble = (await lastLines(this.of.folder.trouble, LINES)).join('; ');
    return failure(
      'infrastructure',
      'supervisor-killed',
      trouble === '' ? 'the task was killed from outside, supervisor and all' : `the task did not start: ${trouble}`,
    );
  }
}

const timedOut = (seconds: number): Failure => failure('timeout', 'run-timeout', `timed out after ${seconds} s`);
