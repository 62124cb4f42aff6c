import { toInstant } from '#kernel';
import type { Clock, Millis, Timer, Timers } from '#kernel';
import { jobStream } from '#jobs';
import type { JobCommand, JobState } from '#jobs';
import type { EvaluationBroker } from '../broker/evaluation-broker.js';
import type { Superseded } from '../broker/known-evaluations.js';
import type { Commands, SchedulingLog, SchedulingObserver } from '../ports.js';

export interface SupersededParts {
  readonly broker: Pick<EvaluationBroker, 'takeSuperseded'>;
  readonly jobs: Commands<JobCommand, JobState>;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: SchedulingLog;
  readonly observer: SchedulingObserver;
}

const ACTOR = { actor: 'system:scheduler' };
const BATCH = 100;
/** Enough for the evaluation that took their place to be made: an event on its job's stream would be a conflict for it. */
const GATHER: Millis = 1_000;
const RETRY: Millis = 30_000;

/**
 * Takes evaluations that became needless and records them, one event for all of a job in a batch.
 *
 * *Resting*: until the broker has some (`tell`). *Gathering*: a moment, for more. *Recording*: job by job; those that the
 * store did not take are kept for later. It ends with `stop`, and what is not recorded then is not recorded.
 */
export class SupersededEvaluations {
  private timer: Timer | undefined;
  private recording: Promise<void> | undefined;
  /** There are more than were taken. */
  private told = false;
  private kept: readonly Superseded[] = [];
  private stopped = false;

  constructor(private readonly parts: SupersededParts) {}

  /** There are some to be taken. */
  tell(): void {
    this.told = true;
    this.gather(GATHER);
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.timer?.cancel();
    await this.recording;
  }

  private gather(span: Millis): void {
    if (this.stopped || this.recording) return;
    this.timer ??= this.parts.timers.after(span, () => {
      this.timer = undefined;
      this.recording = this.record().finally(() => this.rest());
    });
  }

  private rest(): void {
    this.recording = undefined;
    if (this.kept.length > 0) this.gather(RETRY);
    else if (this.told) this.gather(GATHER);
  }

  private async record(): Promise<void> {
    const taken = this.parts.broker.takeSuperseded(BATCH);
    this.told = taken.length === BATCH;
    const kept: Superseded[] = [];
    for (const [jobId, ofJob] of Map.groupBy([...this.kept, ...taken], ({ evaluation }) => evaluation.jobId)) {
      if (!(await this.recordFor(jobId, ofJob))) kept.push(...ofJob);
    }
    this.kept = kept;
  }

  private async recordFor(jobId: string, superseded: readonly Superseded[]): Promise<boolean> {
    const { jobs, clock, log, observer } = this.parts;
    const by = superseded.at(-1)?.by ?? '';
    const evaluations = superseded.map(({ evaluation: { id, trigger } }) => ({ evaluationId: id, trigger }));
    const at = toInstant(clock.now());
    try {
      await jobs.handle(jobStream(jobId), { type: 'RecordEvaluationsSuperseded', by, evaluations, at }, ACTOR);
      observer.superseded?.(superseded.length);
      return true;
    } catch (error) {
      log.warn({ jobId, err: error }, 'superseded evaluations could not be recorded, it is tried again');
      return false;
    }
  }
}
