import type { Artifact, Assignment, DesiredState } from '#contracts';
import { nextBatches } from '../batches/next-batch.js';
import type { BatchSizes } from '../batches/batches.js';
import { messageOf } from '../client/errors.js';
import { aborted } from '../client/wait.js';
import { entryAfter } from '../journal/entry.js';
import type { JournalEntry } from '../journal/entry.js';
import { TaskLogs } from '../logs/task-logs.js';
import { Meter } from '../metering/meter.js';
import { isAlive, NO_PROCESS } from '../runner/process-identity.js';
import type { ProcessIdentity } from '../runner/process-identity.js';
import { makeTaskFolder, removeTaskFolder, taskFolder } from '../runner/task-folder.js';
import type { TaskFolder } from '../runner/task-folder.js';
import { TaskProcess } from '../runner/task-process.js';
import type { Holder } from './admission.js';
import { failure, failureOf, GONE } from './ending.js';
import type { Ending, Failure } from './ending.js';
import { expectedEnd } from './expected-end.js';
import type { ExecutionHost } from './host.js';
import { lastReport, refusedReport } from './last-report.js';
import { adoptProcess, prepareLaunch } from './launch.js';
import { publishOutputs } from './outputs.js';
import { placeInputs } from './place-inputs.js';
import { Run, timesOf, withTimes } from './run.js';
import type { RunTimes } from './run.js';

type PlainReport = 'confirm' | 'prepare' | 'start' | 'publish';

/**
 * One execution on this node, from its admission to the acknowledgement of its result.
 *
 * It goes through the journal's phases in order (admitted, starting, running, ended, finished), entering at the one that
 * its entry names, so that a restarted agent goes on where the last one was; with further batches it comes from running over
 * `between` to starting again. `stop` leads to `finished` with the given
 * failure from wherever it is; `discard`, when the server no longer wants to hear of it, ends it without a report; `leave`
 * lets go of it with process and journal as they are, for a later agent.
 */
export class Execution implements Holder {
  readonly endsBy: Holder['endsBy'] = (now) => expectedEnd(this.entry, this.desired, this.stopsBy, now);
  readonly over: Promise<void>;
  /** Resolves when it no longer holds its contract on this machine: its result is on disk, or all is over without one. */
  readonly released: Promise<void>;
  private readonly finished = Promise.withResolvers<undefined>();
  private readonly folder: TaskFolder;
  private readonly meter: Meter;
  private readonly interrupt = new AbortController();
  private readonly logs: TaskLogs;
  private run: Run | undefined;
  private stopFailure: Failure | undefined;
  private stopsBy: number | undefined;
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
    private readonly sizes: BatchSizes,
  ) {
    this.folder = taskFolder(host.data, entry.assignment.executionId);
    this.logs = new TaskLogs(host, this.id, this.folder);
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
    this.stopsBy ??= this.host.clock.now() + this.host.grace;
    this.interrupt.abort();
    this.runWanted.resolve(undefined);
    this.run?.stop(reason);
  }

  discard(reason: string): void {
    if (this.discarded) return;
    this.host.log.info({ executionId: this.id, reason }, 'the control plane dropped an execution');
    this.discarded = true;
    this.host.reports.forget(this.id);
    this.logs.abort();
    this.stop(failure('cancelled', 'discarded', reason));
  }

  leave(): void {
    this.left = true;
    this.logs.abort();
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
      case 'between':
        await Promise.race([this.wanted, aborted(this.interrupt.signal)]);
        await this.runAll();
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
    await this.runAll();
  }

  /** Makes the folder and brings the image and the inputs, as long as nobody says stop. */
  private async prepare(): Promise<Failure | undefined> {
    try {
      await removeTaskFolder(this.folder);
      await makeTaskFolder(this.folder);
      const absent = await this.host.containers.absent(this.assignment.task.image);
      if (absent !== undefined || this.host.inputs.anyMissing(this.assignment.inputs)) void this.report('prepare');
      if (absent !== undefined) await this.host.containers.fetch(absent, this.interrupt.signal);
      await placeInputs(this.host, this.assignment, this.folder.work, this.meter, this.interrupt.signal);
      await this.runWanted.promise;
      return undefined;
    } catch (error) {
      return failureOf(error, 'fetching what it needs');
    }
  }

  /** Runs the task: once, or for one batch after another. */
  private async runAll(): Promise<void> {
    let again = true;
    while (again && !this.isGone())
      again = this.stopFailure
        ? await this.processEnded({ cpuSeconds: 0, failure: this.stopFailure })
        : await this.runOnce();
  }

  /** Whether another batch follows. */
  private async runOnce(): Promise<boolean> {
    const { executionId, task } = this.assignment;
    const { startedAt = this.host.clock.now() } = this.entry;
    const isFirst = this.entry.startedAt === undefined;
    let started: TaskProcess;
    try {
      const batches = await nextBatches(this.entry, this.folder, this.sizes);
      const launch = await prepareLaunch(this.host, this.assignment, this.folder, batches);
      this.meter.lap();
      await this.change({ phase: 'starting', startedAt, measured: this.meter.measured(), ...(batches && { batches }) });
      started = await TaskProcess.start(launch, this.host.timers, (pid) => this.meter.look(pid));
    } catch (error) {
      await this.finish(failureOf(error, 'starting the task'));
      return false;
    }
    this.host.log.info({ executionId, pid: started.identity.pid, command: task.command }, 'task started');
    const saved = this.change({ phase: 'running', process: started.identity });
    if (isFirst) void this.report('start');
    const [again] = await Promise.all([this.watch(started, false), saved]);
    return again;
  }

  /** Goes on with a task that an earlier agent started: running, ended meanwhile, or gone without a trace. */
  private async takeBack(): Promise<void> {
    const identity = this.entry.process ?? TaskProcess.findUnrecorded(this.folder) ?? NO_PROCESS;
    const process = this.adopt(identity);
    if (!isAlive(identity) && !(await process.exitRecord())) {
      await process.kill();
      await process.dispose();
      return this.finish(GONE);
    }
    this.host.log.info({ executionId: this.id, pid: identity.pid }, 'task taken back');
    this.unsure = true;
    if (this.entry.phase === 'starting') void this.report('start');
    await this.change({ phase: 'running', process: identity });
    if (await this.watch(process, true)) await this.runAll();
  }

  private adopt(identity: ProcessIdentity): TaskProcess {
    return adoptProcess(this.host, this.assignment, this.folder, identity);
  }

  /** Whether another batch follows. */
  private async watch(process: TaskProcess, adopted: boolean): Promise<boolean> {
    this.logs.follow();
    const { assignment, folder, meter } = this;
    const times = timesOf(this.entry, this.host.clock.now());
    const timesChanged = (changed: RunTimes): Promise<void> => this.saveTimes(changed);
    const of = { assignment, folder, process, meter, adopted, times, timesChanged };
    const run = new Run(this.host, { ...of, batches: this.entry.batches });
    this.run = run;
    const ended = run.watch();
    if (this.stopFailure) run.stop(this.stopFailure);
    else this.passOn();
    const result = await Promise.race([ended, this.whenLeft()]);
    this.run = undefined;
    return result ? this.processEnded(result.ending, result.endedAt) : false;
  }

  /** Journals what was done before anything follows: another batch (true), or the publishing. */
  private async processEnded(ended: Ending, endedAt = this.host.clock.now()): Promise<boolean> {
    const measured = this.meter.measured();
    this.entry = entryAfter(this.entry, ended, { endedAt, measured, peakMemory: this.meter.lap() });
    await this.host.journal.save(this.entry);
    if (this.entry.phase === 'between') return true;
    await this.publish();
    return false;
  }

  /** After a restart, once both are known, the run also learns what the server takes it to be. */
  private passOn(): void {
    if (!this.run) return;
    const recorded = this.unsure ? this.recorded : undefined;
    if (recorded !== undefined) this.unsure = false;
    this.run.desire(this.desired, recorded);
  }

  private saveTimes(times: RunTimes): Promise<void> {
    this.entry = withTimes(this.entry, times);
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
    this.logs.follow();
    this.logs.finish();
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
    await this.logs.beforeResult();
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
      if (outcome.kind === 'refused') await this.host.reports.send(refusedReport(this.assignment, outcome.reason));
      if (outcome.kind !== 'rejected') {
        if (this.entry.startedAt !== undefined) this.logs.follow();
        await this.logs.afterResult();
      }
    }
    if (this.isLeft()) return;
    await removeTaskFolder(this.folder);
    await this.host.journal.remove(this.id);
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
