import { toInstant, toMillis } from '#kernel';
import type { Clock, Instant, Millis, Timers } from '#kernel';
import type { Handled, RecordedEvent } from '#event-store';
import { JOB_STREAM_PREFIX, jobIdOfExecution, jobStream, nextTimeout, runDeadline } from '#jobs';
import type { JobCommand, JobEvent, JobState } from '#jobs';
import type { ClusterJob, LiveExecution } from '#placement';
import type { Commands, SchedulingLog, SchedulingObserver, SchedulingOptions } from '../ports.js';
import type { ClusterView } from '../view/cluster-view.js';
import { Deadlines } from './deadlines.js';

export interface JobTimeoutsParts {
  readonly view: ClusterView;
  readonly jobs: Commands<JobCommand, JobState>;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: SchedulingLog;
  readonly observer: SchedulingObserver;
  readonly options: Pick<SchedulingOptions, 'runGrace' | 'runMargin'>;
}

const ACTOR = { actor: 'system:timeouts' };
/** Until what could not be asked or stored is tried again. */
const AGAIN: Millis = 1_000;

/**
 * Holds jobs to their timeouts.
 *
 * Two kinds of deadline side by side. *Job*: `queue` and `total`; set when the job appears in the log or waits again, or at
 * `start` for those found there, and gone with the job's end. *Run*: `run` and the margin in which the node's own word of
 * its end may arrive; set when a task starts or goes on, and gone when it ended or was seen to be over its time. One that rings
 * asks the job, which decides by all that it knows and tells the next moment. While the store is away it rings every second.
 *
 * After the control plane or the store was away, nodes may have an end to report that nobody took in: tasks from before that
 * are given the grace from `since` on (the start, or the last return), and so is a job whose time ran out meanwhile and of
 * which something runs. Ends with `stop`.
 */
export class JobTimeouts {
  private readonly ofJobs: Deadlines;
  private readonly ofRuns: Deadlines;
  private since: Millis = 0;
  private stopListening: (() => void)[] = [];

  constructor(private readonly parts: JobTimeoutsParts) {
    const { clock, timers } = parts;
    this.ofJobs = new Deadlines(clock, timers, (jobId) => void this.timeOutJob(jobId));
    this.ofRuns = new Deadlines(clock, timers, (executionId) => void this.timeOutRun(executionId));
  }

  start(): void {
    const { view } = this.parts;
    const whole = (): void => void (this.since = this.parts.clock.now());
    whole();
    this.stopListening = [view.listen((event) => this.hear(event)), view.onReturn(whole)];
    for (const job of view.cluster.jobs.values()) {
      this.watchJob(job);
      for (const execution of job.executions.values()) this.watchRun(job, execution);
    }
  }

  stop(): void {
    for (const stop of this.stopListening.splice(0)) stop();
    this.ofJobs.dropAll();
    this.ofRuns.dropAll();
  }

  private hear({ stream, type, data }: RecordedEvent): void {
    if (!stream.startsWith(JOB_STREAM_PREFIX)) return;
    const jobId = stream.slice(JOB_STREAM_PREFIX.length);
    const event = { type, data } as JobEvent;
    switch (event.type) {
      case 'JobSubmitted':
      case 'DependenciesMet':
      case 'JobResumed':
        return this.watchJob(this.jobOf(jobId));
      case 'JobRequeued':
        return this.waitsAgain(jobId, toMillis(event.data.notBefore));
      case 'ExecutionStarted':
      case 'ExecutionResumed': {
        const job = this.jobOf(jobId);
        return this.watchRun(job, job?.executions.get(event.data.executionId));
      }
      case 'ExecutionPublishing':
      case 'ExecutionTimedOut':
      case 'ExecutionSucceeded':
      case 'ExecutionFailed':
      case 'ExecutionLost':
      case 'ExecutionCancelled':
        return this.ofRuns.drop(event.data.executionId);
      case 'JobCompleted':
      case 'JobFailed':
      case 'JobCancelled':
        return this.ofJobs.drop(jobId);
      default:
    }
  }

  private jobOf(jobId: string): ClusterJob | undefined {
    return this.parts.view.cluster.jobs.get(jobId);
  }

  /** The cluster does not know when a job was resumed, so this may be early; the job itself knows. */
  private watchJob(job: ClusterJob | undefined): void {
    const due = job && nextTimeout(job);
    if (due !== undefined) this.ofJobs.by(job?.id ?? '', toMillis(due));
  }

  /** Of its many parts only this one waits since another moment. */
  private waitsAgain(jobId: string, from: Millis): void {
    const queue = this.jobOf(jobId)?.spec.timeouts.queue;
    if (queue !== undefined) this.ofJobs.by(jobId, from + queue * 1000);
  }

  private watchRun(job: ClusterJob | undefined, execution: LiveExecution | undefined): void {
    const run = job?.spec.timeouts.run;
    if (run === undefined || execution?.state !== 'running' || execution.startedAt === undefined) return;
    const due = toMillis(execution.startedAt) + run * 1000 + this.parts.options.runMargin;
    this.ofRuns.by(execution.executionId, Math.max(due, this.earliest(execution)));
  }

  /** Before which a run is not taken to be over without its node's word. */
  private earliest({ startedAt }: LiveExecution): Millis {
    return startedAt !== undefined && toMillis(startedAt) < this.since ? this.graceEnd : 0;
  }

  private get graceEnd(): Millis {
    return this.since + this.parts.options.runGrace;
  }

  private async timeOutJob(jobId: string): Promise<void> {
    const now = this.parts.clock.now();
    const job = this.jobOf(jobId);
    const due = job && nextTimeout(job);
    if (!job || due === undefined) return;
    if (!this.parts.view.ready) {
      this.ofJobs.by(jobId, now + AGAIN);
      return;
    }
    const missed = toMillis(due) < this.since && job.executions.size > 0;
    if (missed && now < this.graceEnd) {
      this.ofJobs.by(jobId, this.graceEnd);
      return;
    }
    const state = await this.ask(jobId, { type: 'TimeOutJob', at: toInstant(now) });
    if (this.stopListening.length === 0) return;
    if (state === 'failed') {
      this.ofJobs.by(jobId, this.parts.clock.now() + AGAIN);
      return;
    }
    const next = state && !state.ended && state.cancelRequested === undefined ? nextTimeout(state) : undefined;
    if (next !== undefined) this.ofJobs.by(jobId, toMillis(next));
  }

  private async timeOutRun(executionId: string): Promise<void> {
    const { clock, options, view } = this.parts;
    const now = clock.now();
    if (!view.ready) {
      this.ofRuns.by(executionId, now + AGAIN);
      return;
    }
    const known = this.jobOf(jobIdOfExecution(executionId))?.executions.get(executionId);
    const earliest = known ? this.earliest(known) : 0;
    if (now < earliest) {
      this.ofRuns.by(executionId, earliest);
      return;
    }
    const grace = options.runMargin / 1000;
    const command: JobCommand = { type: 'TimeOutExecution', executionId, grace, at: toInstant(now) };
    const state = await this.ask(jobIdOfExecution(executionId), command);
    if (this.stopListening.length === 0) return;
    if (state === 'failed') {
      this.ofRuns.by(executionId, clock.now() + AGAIN);
      return;
    }
    const next = state && nextRunDeadline(state, executionId, grace);
    if (next !== undefined) this.ofRuns.by(executionId, toMillis(next));
  }

  /** The job's state after the command; undefined when there is no such job. */
  private async ask(jobId: string, command: JobCommand): Promise<JobState | 'failed' | undefined> {
    const { jobs, log, observer } = this.parts;
    try {
      const answer: Handled<JobState> = await jobs.handle(jobStream(jobId), command, ACTOR);
      if (answer.kind !== 'done') return undefined;
      if (answer.events > 0) observer.timedOut?.();
      return answer.state;
    } catch (error) {
      log.warn({ jobId, err: error }, 'a timeout was not recorded yet, it is tried again');
      return 'failed';
    }
  }
}

/** A run that its job or its user gave up has no deadline any more, however long its node takes to end it. */
const nextRunDeadline = (job: JobState, executionId: string, grace: number): Instant | undefined => {
  const execution = job.executions[executionId];
  const over = job.ended !== undefined || job.cancelRequested !== undefined;
  return execution && job.spec && !over ? runDeadline(job.spec, execution, grace) : undefined;
};
