import { toInstant } from '#kernel';
import type { Clock, Timers } from '#kernel';
import { jobStream } from '#jobs';
import type { JobCommand, JobState } from '#jobs';
import { DEAD_LETTERS } from '../broker/delivery.js';
import type { Evaluation } from '../broker/evaluation.js';
import { GrowingWait } from '../growing-wait.js';
import type { Commands, SchedulingLog, SchedulingObserver } from '../ports.js';
import type { EvaluationOutcome, JobScheduler, SchedulerProvider } from '../worker/job-scheduler.js';
import type { Passes } from './passes.js';

export interface DeadLetterParts {
  readonly jobs: Commands<JobCommand, JobState>;
  readonly passes: Pick<Passes, 'faultOf' | 'giveUp'>;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: SchedulingLog;
  readonly observer: SchedulingObserver;
  readonly options: { readonly deliveryLimit: number };
}

const ACTOR = { actor: 'system:scheduler' };
/** Of a fault's message, in characters: an event is no place for a whole answer of some server. */
const MOST_TOLD = 500;

/**
 * Records on its job that an evaluation failed too often; for as long as that takes, since a store that is away may be why.
 * Until then the evaluation goes on holding its job. A worker that consumes the dead letters has this as its only scheduler.
 */
export class DeadLetters implements SchedulerProvider, JobScheduler {
  readonly types = [DEAD_LETTERS];
  private stopped = false;
  private readonly pause: GrowingWait;

  constructor(private readonly parts: DeadLetterParts) {
    this.pause = new GrowingWait(parts.timers);
  }

  schedulerFor(): JobScheduler {
    return this;
  }

  async process(evaluation: Evaluation): Promise<EvaluationOutcome> {
    const { passes, log, observer } = this.parts;
    const { id: evaluationId, jobId } = evaluation;
    const reason = passes.faultOf(evaluation).slice(0, MOST_TOLD);
    for (let failed = 0; !(await this.record(evaluation, reason)); failed += 1) {
      await this.pause.after(failed);
      if (this.stopped) throw new Error('stopped before a dead letter could be recorded');
    }
    log.error({ jobId, evaluationId, reason }, 'an evaluation failed too often and is given up');
    observer.deadLettered?.();
    passes.giveUp(evaluation);
    return { kind: 'idle' };
  }

  /** Ends a wait for the store. */
  stop(): void {
    this.stopped = true;
    this.pause.end();
  }

  /** What is refused is of a job that is no more. */
  private async record({ id: evaluationId, jobId, trigger }: Evaluation, reason: string): Promise<boolean> {
    const { jobs, clock, log, options } = this.parts;
    const failure = { evaluationId, trigger, deliveries: options.deliveryLimit, reason, at: toInstant(clock.now()) };
    try {
      await jobs.handle(jobStream(jobId), { type: 'RecordEvaluationFailed', ...failure }, ACTOR);
      return true;
    } catch (error) {
      log.warn({ jobId, evaluationId, err: error }, 'a dead letter could not be recorded, it is tried again');
      return false;
    }
  }
}
