import { stat } from 'node:fs/promises';
import type { Assignment, DesiredState } from '#contracts';
import type { Millis } from '#kernel';
import { ProgressReporter } from '../logs/progress-reporter.js';
import { ProgressWatch } from '../logs/progress-watch.js';
import { lastLines } from '../logs/read-range.js';
import type { Meter } from '../metering/meter.js';
import { oomKills } from '../runner/oom.js';
import { classifyExit } from '../runner/outcome.js';
import { isAlive } from '../runner/process-identity.js';
import type { TaskFolder } from '../runner/task-folder.js';
import type { TaskProcess } from '../runner/task-process.js';
import { failure } from './ending.js';
import type { Ending, Failure } from './ending.js';
import type { ExecutionHost } from './host.js';
import { RunTimeout } from './run-timeout.js';

const STDERR_LINES = 20;

/** When a run began and how long it stood still; kept in the journal. */
export interface RunTimes {
  readonly startedAt: Millis;
  readonly pausedFor: Millis;
  readonly pausedSince?: Millis;
}

/**
 * One task process under watch, from its start (or from when it was taken back) to its end.
 *
 * Modes: *running* samples, passes progress on and counts towards the timeout; *paused* stands still, its clock too, entered
 * and left as the server desires, and found again by a later agent; *ending* was told to stop, by the server, the agent's own end or the
 * timeout, and has the grace to do so. It is over when the supervisor is gone and nothing of the task is left.
 */
export class Run {
  private readonly timeout: RunTimeout;
  private readonly oomBefore = oomKills();
  private stopFailure: Failure | undefined;
  private exited = false;
  private turn = Promise.resolve();

  constructor(
    private readonly host: ExecutionHost,
    private readonly assignment: Assignment,
    private readonly folder: TaskFolder,
    private readonly process: TaskProcess,
    private readonly meter: Meter,
    private readonly adopted: boolean,
    private times: RunTimes,
    /** Resolves when they are on disk, or cannot be. */
    private readonly timesChanged: (times: RunTimes) => Promise<void>,
  ) {
    this.timeout = new RunTimeout(
      host.timers,
      () => this.remaining(),
      () => this.stop(timedOut(assignment.task.runTimeout ?? 0)),
    );
  }

  /** Looks on until nothing of the task is left, and tells how it ended. */
  async watch(): Promise<{ ending: Ending; endedAt: Millis }> {
    const unwatch = this.host.sampler.watch((table, mark) => this.meter.sample(this.process.membersIn(table, mark)));
    const reporter = new ProgressReporter(this.host.clock, this.host.timers, (tick) => {
      const { executionId, fencingToken } = this.assignment;
      void this.host.reports.send({ type: 'progress', executionId, fencingToken, ...tick });
    });
    const progress = new ProgressWatch(this.folder, this.host.timers, (tick) => reporter.offer(tick));
    if (this.adopted) this.holdOn();
    else this.timeout.set();
    await this.process.exited;
    this.exited = true;
    const endedAt = await this.endedAt();
    this.timeout.clear();
    unwatch();
    await this.process.sweep();
    await progress.finish();
    reporter.flush();
    return { ending: await this.ending(), endedAt };
  }

  /** Ends the task; the first reason counts. */
  stop(reason: Failure): void {
    if (this.stopFailure || this.exited) return;
    this.stopFailure = reason;
    this.timeout.clear();
    void this.process.end(this.host.grace);
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
    if (!isAlive(this.process.identity)) return;
    if (this.times.pausedSince !== undefined) return void this.process.pause();
    this.process.resume();
    this.timeout.set();
  }

  private pause(): void {
    this.timeout.clear();
    const saved = this.changeTimes({ ...this.times, pausedSince: this.host.clock.now() });
    this.inTurn(async () => {
      await saved;
      await this.process.pause();
      this.report('pause');
    });
  }

  private resume(): void {
    const { startedAt, pausedFor, pausedSince } = this.times;
    const saved = this.changeTimes({ startedAt, pausedFor: pausedFor + this.host.clock.now() - (pausedSince ?? 0) });
    this.timeout.set();
    this.inTurn(async () => {
      await saved;
      this.process.resume();
      this.report('resume');
    });
  }

  /** One after the other, so that a resumption finds all processes stopped, and none is stopped after it. */
  private inTurn(act: () => Promise<void>): void {
    this.turn = this.turn.then(act);
  }

  private changeTimes(times: RunTimes): Promise<void> {
    this.times = times;
    return this.timesChanged(times);
  }

  private report(type: 'pause' | 'resume'): void {
    const { executionId, fencingToken } = this.assignment;
    void this.host.reports.send({ type, executionId, fencingToken });
  }

  private remaining(): Millis | undefined {
    const { runTimeout } = this.assignment.task;
    if (runTimeout === undefined) return undefined;
    return this.times.startedAt + this.times.pausedFor + runTimeout * 1000 - this.host.clock.now();
  }

  /** A process that ended while no agent looked left the time in its exit file. */
  private async endedAt(): Promise<Millis> {
    const now = this.host.clock.now();
    const written = this.adopted ? await stat(this.folder.exit).catch(() => undefined) : undefined;
    return written ? Math.min(now, Math.round(written.mtimeMs)) : now;
  }

  private async ending(): Promise<Ending> {
    const exit = await this.process.exitRecord();
    const stderrTail = await lastLines(this.folder.stderr, STDERR_LINES);
    const cpuSeconds = exit?.cpuSeconds ?? 0;
    if (this.stopFailure) {
      const stopped = { ...this.stopFailure, diagnostics: { stderr: stderrTail, ...this.stopFailure.diagnostics } };
      return { ...(exit && { exitCode: exit.code }), cpuSeconds, failure: stopped };
    }
    if (!exit) return { cpuSeconds, failure: this.unexplained(stderrTail) };
    const found = classifyExit(exit, { stderrTail, oomKills: oomKills() - this.oomBefore });
    return { exitCode: exit.code, cpuSeconds, ...(found && { failure: found }) };
  }

  private unexplained(stderr: readonly string[]): Failure {
    return this.adopted
      ? failure('infrastructure', 'agent-restarted', 'the task ended while the agent was away, leaving no exit status')
      : failure('infrastructure', 'supervisor-killed', 'the task was killed from outside, supervisor and all', {
          stderr,
        });
  }
}

const timedOut = (seconds: number): Failure => failure('timeout', 'run-timeout', `timed out after ${seconds} s`);
