import type { Instant } from '#kernel';
import type { Decision } from '#jobs';
import type { ClusterJob, ClusterState } from '#placement';
import type { Plan } from '../planner/plan.js';
import type { EvaluationOutcome } from '../worker/job-scheduler.js';
import { dueOf, emptyPlan, isKnown, MOST_PER_PASS, outcomesOf, placeInTurn, waitingFor } from './place.js';
import type { Pass, Placed } from './place.js';

/**
 * What there should be of a batch job or a service and is not: one execution for each partition that is neither live nor
 * done, as soon as its backoff is over. Partitions are alike, so the first that no node can take speaks for those after it.
 * A job that is held gets nothing.
 *
 * Pure: the same job, cluster, time and ids give the same plan; nothing of it has happened.
 */
export const reconcileBatch = (job: ClusterJob, cluster: ClusterState, pass: Pass): Plan => {
  const plan = emptyPlan(job, cluster, pass);
  if (job.paused || job.blocked || job.cancelRequested) return plan;
  const { due, until } = dueOf(job, pass.now);
  if (due.length === 0) return { ...plan, followUp: { kind: 'idle', ...(until !== undefined && { until }) } };
  const goesOn = ({ placements, unplaced }: Placed): boolean =>
    placements.length < MOST_PER_PASS && unplaced.length === 0;
  const placed = placeInTurn(job, due, cluster, pass, goesOn);
  const { placements, unplaced } = placed;
  const deferrals = unplaced.filter((decision) => placements.length > 0 || !isKnown(job, decision));
  const open = until !== undefined || placements.length < due.length;
  return { ...plan, placements, deferrals, outcomes: outcomesOf(placed), followUp: after(unplaced, open, until) };
};

const after = ([unplaced]: readonly Decision[], open: boolean, until: Instant | undefined): EvaluationOutcome => {
  if (unplaced) return { kind: 'waiting', ...waitingFor(unplaced), ...(until !== undefined && { until }) };
  return open ? { kind: 'again', because: 'more' } : { kind: 'placed' };
};
