import type { Instant } from '#kernel';
import type { Decision, DecisionOutcome, Ending, PlannedPlacement, PlannedStop, PlannedTargets } from '#jobs';
import type { EvaluationOutcome } from '../worker/job-scheduler.js';

/**
 * What one pass over a job comes to, as a value: nothing of it has happened yet. It holds for the states that it was made
 * from alone, and is carried out whole or not at all.
 */
export interface Plan {
  readonly jobId: string;
  readonly project: string;
  readonly evaluationId: string;
  /** Of the job's stream when the pass read it. */
  readonly revision: bigint;
  /** How far the log was folded into the cluster that the pass saw. */
  readonly position: bigint;
  /** Reservations of others, still on their way, that the pass took for granted. */
  readonly assumed: readonly string[];
  readonly at: Instant;
  /** In the order in which they were decided: each sees the ones before it as taken. */
  readonly placements: readonly PlannedPlacement[];
  /** Decisions that placed nothing and say so for another reason than the last time. */
  readonly deferrals: readonly Decision[];
  /** Nodes that a job with targets is to get and to lose. */
  readonly targets?: PlannedTargets;
  readonly stops: readonly PlannedStop[];
  /** Of every decision of the pass, recorded or not: for counters. */
  readonly outcomes: readonly DecisionOutcome[];
  /** Why the system gives the job up, if it does. */
  readonly end?: Ending;
  /** The evaluation that follows once this is recorded. */
  readonly followUp: EvaluationOutcome;
}

/** An empty plan writes nothing. */
export const isEmpty = ({ placements, deferrals, targets, stops, end }: Plan): boolean =>
  [placements, deferrals, stops].every(({ length }) => length === 0) && targets === undefined && end === undefined;
