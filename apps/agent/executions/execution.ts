import type { Artifact, Assignment, DesiredState } from '#contracts';
import { messageOf } from '../client/errors.js';
import { aborted, within } from '../client/wait.js';
import type { JournalEntry } from '../journal/entry.js';
import type { LogStream } from '../logs/log-stream.js';
import { Meter } from '../metering/meter.js';
import { isAlive, NO_PROCESS } from '../runner/process-identity.js';
import type { ProcessIdentity } from '../runner/process-identity.js';
import { processInfo } from '../runner/process-table.js';
import { makeTaskFolder, removeTaskFolder, taskFolder } from '../runner/task-folder.js';
import type { TaskFolder } from '../runner/task-folder.js';
import { TaskProcess } from '../runner/task-process.js';
import { failure, failureOf } from './ending.js';
import type { Failure } from './ending.js';
import { followLogs } from './follow-logs.js';
import type { ExecutionHost } from './host.js';
import { lastReport } from './last-report.js';
import { prepareLaunch } from './launch.js';
import { publishOutputs } from './outputs.js';
import { Run } from './run.js';
import type { RunTimes } from './run.js';

/** How long a result waits for the last of its logs to arrive before it goes ahead of them. */
const LOGS_BEFORE_RESULT = 10_000;
/** How long an acknowledged execution's folder is kept for logs that still could not be sent. */
const LOGS_AFTER_RESULT = 300_000;

type PlainReport = 'confirm' | 'prepare' | 'start' | 'publish';

/**
 * One execution on this node, from its admission to the acknowledgement of its result.
 *
 * It goes through the journal's phases in order (admitted, starting, running, ended, finished), entering at the one that
 * its entry names, so that a restarted agent goes on where the last one was. `stop` leads to `finished` with the given
 * failure from wherever it is; `discard`, when the server no longer wants to hear of it, ends it without a report; `leave`
 * lets go of it with process and journal as they are, for a later agent.
 */
export class Execution {
  readonly over: Promise<void>;
  /** Resolves when it no longer holds its contract on this machine: its result is on disk, or all is over without one. */
  readonly released: Promise<void>;
  private readonly finished = Promise.withResolvers<undefined>();
  private readonly folder: TaskFolder;
  private readonly meter: Meter;
  private readonly interrupt = new AbortController();
  private logs: LogStream[] = [];
  private run: Run | undefined;
  private stopFailure: Failure | undefined;
  private unsure = false;
  private recorded: string | undefined;
  private discarded = false;
  private left = false;
  private runWanted = Promise.withResolvers<undefined>();
  private desired: DesiredState;

  constructor(
    private readonly host: ExecutionHost,
    private entry: JournalEntry,
    /** Resolves when the server was heard to want this execution; nothing new is begun before. */
    private readonly wanted: Promise<void>,
  ) {
    this.folder = taskFolder(host.data, entry.assignment.executionId);
    this.meter = new Meter(entry.measured);
    this.desired = entry.pausedSince === undefined ? entry.assignment.desired : 'pause';
    if (this.desired === 'run') this.runWanted.resolve(undefined);
    if (entry.phase === 'finished') this.finished.resolve(undefined);
    this.over = this.live().catch((error: unknown) => this.giveUp(error));
    this.released = Promise.race([this.finished.promise, this.over]);
  }

  get id(): string {
    return this.entry.assignment.executionId;
  }

  get assignment(): Assignment {
    return this.entry.assignment;
  }

  /** Whether only its report (or the publishing of its outputs) is left to do. */
  get ended(): boolean {
    return this.entry.phase === 'ended' || this.entry.phase === 'finished';
  }

  /** `recorded` is the state that the server knows: of one that was taken back it may lag behind what was done. */
  desire(desired: DesiredState, recorded: string): void {
    this.recorded = recorded;
    if (desired === this.desired) return this.unsure ? this.passOn() : undefined;
    this.desired = desired;
    if (desired === 'stop') this.stop(failure('cancelled', 'stopped', 'stopped as the control plane asked'));
    else if (desired === 'run') this.runWanted.resolve(undefined);
    else this.runWanted = Promise.withResolvers();
    this.passOn();
  }

  stop(reason: Failure): void {
    if (this.entry.phase === 'finished') return;
    this.stopFailure ??= reason;
    this.interrupt.abort();
    this.runWanted.resolve(undefined);
    this.run?.stop(reason);
  }

  discard(reason: string): void {
    if (this.discarded) return;
    this.host.log.info({ executionId: this.id, reason }, 'the control plane dropped an execution');
    this.discarded = true;
    this.host.reports.forget(this.id);
    for (const log of this.logs) log.abort();
    this.stop(failure('cancelled', 'discarded', reason));
  }

  leave(): void {
    this.left = true;
    for (const log of this.logs) log.abort();
    this.interrupt.abort();
    this.runWanted.resolve(undefined);
  }

  private async live(): Promise<void> {
    switch (this.entry.phase) {
      case 'admitted':
        await this.begin();
        break;
      case 'starting':
      case 'running':
        await this.takeBack();
        break;
      case 'ended':
        await this.publish();
        break;
      case 'finished':
        break;
    }
    await this.acknowledge();
  }

  private isGone(): boolean {
    return this.discarded || this.left;
  }

  private isLeft(): boolean {
    return this.left;
  }

  private async begin(): Promise<void> {
    await this.host.journal.save(this.entry);
    await Promise.race([this.wanted, aborted(this.interrupt.signal)]);
    if (!this.isGone() && !this.stopFailure) await this.report('confirm');
    if (this.isGone()) return;
    const failed = this.stopFailure ?? (await this.prepare()) ?? this.stopFailure;
    if (this.isGone()) return;
    if (failed) return this.finish(failed);
    await this.start();
  }

  /** Makes the folder and brings the inputs, as long as nobody says stop. */
  private async prepare(): Promise<Failure | undefined> {
    const { inputs } = this.assignment;
    try {
      await removeTaskFolder(this.folder);
      await makeTaskFolder(this.folder);
      if (this.host.inputs.anyMissing(inputs)) void this.report('prepare');
      const received = (bytes: number): void => this.meter.received(bytes);
      const placed = this.host.inputs.place(this.id, inputs, this.folder.work, received, this.interrupt.signal);
      await Promise.race([placed, aborted(this.interrupt.signal)]);
      await this.runWanted.promise;
      return undefined;
    } catch (error) {
      return failureOf(error, 'fetching inputs');
    }
  }

  private async start(): Promise<void> {
    const { executionId, task } = this.assignment;
    let started: TaskProcess;
    try {
      const launch = await prepareLaunch(this.host, this.assignment, this.folder);
      await this.change({ phase: 'starting', startedAt: this.host.clock.now(), measured: this.meter.measured() });
      const firstLook = (pid: number): void => void this.meter.sample([processInfo(pid) ?? []].flat());
      started = await TaskProcess.start(launch, this.host.timers, firstLook);
    } catch (error) {
      return this.finish(failureOf(error, 'starting the task'));
    }
    this.host.log.info({ executionId, pid: started.identity.pid, command: task.command }, 'task started');
    const saved = this.change({ phase: 'running', process: started.identity });
    void this.report('start');
    await Promise.all([saved, this.watch(started, false)]);
  }

  /** Goes on with a task that an earlier agent started: running, ended meanwhile, or gone without a trace. */
  private async takeBack(): Promise<void> {
    const identity = this.entry.process ?? TaskProcess.findUnrecorded(this.folder) ?? NO_PROCESS;
    const process = this.adopt(identity);
    if (!isAlive(identity) && !(await process.exitRecord())) {
      await process.kill();
      await process.dispose();
      const reason = 'the agent restarted and the task is gone, leaving no exit status';
      return this.finish(failure('infrastructure', 'agent-restarted', reason));
    }
    this.host.log.info({ executionId: this.id, pid: identity.pid }, 'task taken back');
    this.unsure = true;
    if (this.entry.phase === 'starting') void this.report('start');
    await this.change({ phase: 'running', process: identity });
    await this.watch(process, true);
  }

  private adopt(identity: ProcessIdentity): TaskProcess {
    return TaskProcess.adopt(identity, this.folder, this.host.timers, this.host.groups?.of(this.id));
  }

  private async watch(process: TaskProcess, adopted: boolean): Promise<void> {
    this.followLogs();
    const { startedAt = this.host.clock.now(), pausedFor, pausedSince } = this.entry;
    const times = { startedAt, pausedFor, ...(pausedSince !== undefined && { pausedSince }) };
    const run = new Run(this.host, {
      assignment: this.assignment,
      folder: this.folder,
      process,
      meter: this.meter,
      adopted,
      times,
      timesChanged: (changed) => this.saveTimes(changed),
    });
    this.run = run;
    const ended = run.watch();
    if (this.stopFailure) run.stop(this.stopFailure);
    else this.passOn();
    const result = await Promise.race([ended, this.whenLeft()]);
    this.run = undefined;
    if (!result) return;
    const { ending, endedAt } = result;
    await this.change({ phase: 'ended', ending, endedAt, measured: this.meter.measured() });
    await this.publish();
  }

  /** After a restart, once both are known, the run also learns what the server takes it to be. */
  private passOn(): void {
    if (!this.run) return;
    const recorded = this.unsure ? this.recorded : undefined;
    if (recorded !== undefined) this.unsure = false;
    this.run.desire(this.desired, recorded);
  }

  private saveTimes(times: RunTimes): Promise<void> {
    const { pausedSince: _, ...rest } = this.entry;
    this.entry = { ...rest, ...times };
    const failed = (error: unknown): void =>
      this.host.log.error({ executionId: this.id, reason: messageOf(error) }, 'a pause could not be recorded');
    return this.host.journal.save(this.entry).catch(failed);
  }

  private async whenLeft(): Promise<undefined> {
    await aborted(this.interrupt.signal);
    if (!this.isLeft()) await new Promise(() => undefined);
    return undefined;
  }

  private async publish(): Promise<void> {
    if (this.isGone()) return;
    this.followLogs();
    for (const log of this.logs) log.finish();
    const ending = this.entry.ending ?? { cpuSeconds: 0 };
    const { artifacts, failed } = await publishOutputs(this.host.publisher, {
      work: this.folder.work,
      patterns: this.assignment.task.outputs,
      failed: ending.failure,
      meter: this.meter,
      signal: this.interrupt.signal,
      begun: () => void this.report('publish'),
    });
    if (this.isGone()) return;
    await within(this.host.timers, LOGS_BEFORE_RESULT, Promise.all(this.logs.map(({ done }) => done)));
    if (this.isGone()) return;
    await this.finish(ending.failure ?? (failed && (this.stopFailure ?? failed)), artifacts);
  }

  /** Makes the last report and keeps it on disk until it is acknowledged. */
  private async finish(failed: Failure | undefined, artifacts: readonly Artifact[] = []): Promise<void> {
    const last = lastReport(this.entry, this.meter.measured(), failed, artifacts);
    await this.change({ phase: 'finished', last });
    this.finished.resolve(undefined);
    this.host.log.info(
      { executionId: this.id, type: last.type, ...(failed && { code: failed.code }) },
      'task finished',
    );
  }

  private async acknowledge(): Promise<void> {
    if (this.isLeft()) return;
    const { last } = this.entry;
    if (last && !this.discarded) {
      const outcome = await this.host.reports.send(last);
      if (this.isLeft()) return;
      if (outcome.kind === 'refused') await this.reportRefusal(outcome.reason);
      if (outcome.kind !== 'rejected') await this.lastLogs();
    }
    if (this.isLeft()) return;
    await removeTaskFolder(this.folder);
    await this.host.journal.remove(this.id);
  }

  /** A result that the server cannot read must not leave the execution open for ever: its plainest form is sent. */
  private async reportRefusal(reason: string): Promise<void> {
    const { executionId, fencingToken } = this.assignment;
    const refused = failure('infrastructure', 'report-refused', `the result was refused: ${reason}`);
    await this.host.reports.send({ type: 'fail', executionId, fencingToken, ...refused });
  }

  /** A fault of the agent's own (its disk, most likely): nothing may go on running unseen, and the server is told. */
  private async giveUp(error: unknown): Promise<void> {
    this.host.log.error({ executionId: this.id, reason: messageOf(error) }, 'an execution was given up');
    const { executionId, fencingToken } = this.assignment;
    const reason = failureOf(error, 'keeping the journal');
    this.run?.stop(reason);
    const { process } = this.entry;
    if (process) await this.adopt(process).end(this.host.grace);
    this.entry = { ...this.entry, phase: 'finished' };
    if (!this.isGone()) await this.host.reports.send({ type: 'fail', executionId, fencingToken, ...reason });
    await this.host.journal.remove(this.id).catch(() => undefined);
  }

  private async lastLogs(): Promise<void> {
    if (this.entry.startedAt !== undefined) this.followLogs();
    for (const log of this.logs) log.finish();
    await within(this.host.timers, LOGS_AFTER_RESULT, Promise.all(this.logs.map(({ done }) => done)));
    for (const log of this.logs) log.abort();
  }

  private followLogs(): void {
    if (this.logs.length === 0) this.logs = followLogs(this.host, this.id, this.folder);
  }

  /** A confirmation tells of a smaller contract than was reserved, so that others get the rest. */
  private async report(type: PlainReport): Promise<void> {
    const { executionId, fencingToken, contract } = this.assignment;
    const granted = type === 'confirm' && this.entry.reduced ? { contract } : {};
    const outcome = await this.host.reports.send({ type, executionId, fencingToken, ...granted });
    if (outcome.kind === 'refused' && type === 'confirm') this.discard('the confirmation was refused');
  }

  private async change(change: Partial<JournalEntry>): Promise<void> {
    this.entry = { ...this.entry, ...change };
    await this.host.journal.save(this.entry);
  }
}
