import type { Instant } from '#kernel';
import type { Evaluation } from '../broker/evaluation.js';

/** What a job waits for: `reasons` as `reasonsDigest` has them. */
export interface Waiting {
  readonly wakesOn: readonly string[];
  readonly reasons: string;
  readonly wakesAt?: Instant;
}

/** How a pass over a job ended, and what its queue does next. */
export type EvaluationOutcome =
  /** Nothing is left to do. */
  | { readonly kind: 'placed' }
  /** Something still waits for one of these events, or for a moment; and a part of the job for the end of its backoff (`until`). */
  | ({ readonly kind: 'waiting'; readonly until?: Instant } & Waiting)
  /** Look again at once: there is more than fits one pass, or somebody else was first. */
  | { readonly kind: 'again'; readonly because: 'more' | 'conflict' }
  /** Nothing to place: ended, paused, or not due yet (`until`). */
  | { readonly kind: 'idle'; readonly until?: Instant };

/** Schedules the jobs of one type. */
export interface JobScheduler {
  /**
   * One pass over the job, on the state of the cluster at the time of the call. What it claims it takes for granted before
   * it first waits, so that the next choice of a job, right after, sees it. Never two at once for the same job, unless a
   * lease ran out: then the revision of the job's stream decides. Throws when the pass could not be made; it is then tried again.
   */
  process(evaluation: Evaluation): Promise<EvaluationOutcome>;
}

export interface SchedulerProvider {
  /** Types of evaluations that there is a scheduler for. */
  readonly types: readonly string[];
  /** Throws for any other type, naming it. */
  schedulerFor(type: string): JobScheduler;
}
