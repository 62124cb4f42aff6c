import type { Instant } from '#kernel';
import { reasonsDigest, waitingPartitions } from '#placement';
import type { ClusterJob, ClusterState } from '#placement';
import type { Plan } from '../planner/plan.js';
import type { EvaluationOutcome } from '../worker/job-scheduler.js';
import { emptyPlan, outcomesOf, placeInTurn, placesIn, waitingFor } from './place.js';
import type { Pass, Placed } from './place.js';

/**
 * What there should be of a batch job and is not: one execution for each partition that is neither live nor done, as soon as
 * its backoff is over. Partitions of a batch are alike, so the first that no node can take speaks for those after it. A job
 * that is held gets nothing.
 *
 * Pure: the same job, cluster, time and ids give the same plan; nothing of it has happened.
 */
export const reconcileBatch = (job: ClusterJob, cluster: ClusterState, pass: Pass): Plan => {
  const plan = emptyPlan(job, cluster, pass);
  if (job.paused || job.cancelRequested) return plan;
  const waiting = waitingPartitions(job);
  const notBefore = (index: number): Instant => job.partitions[index]?.notBefore ?? '';
  const due = waiting.filter((index) => notBefore(index) <= pass.now);
  const later = waiting.map(notBefore).filter((moment) => moment > pass.now);
  const until = later.sort()[0];
  if (due.length === 0) return { ...plan, followUp: until === undefined ? { kind: 'idle' } : { kind: 'idle', until } };
  const placed = placeInTurn(job, due.slice(0, placesIn(cluster)), cluster, pass);
  const { placements, unplaced } = placed;
  const deferrals = unplaced && !isKnown(job, placed) ? [unplaced] : [];
  const followUp = after(placed, waiting.length, until);
  return { ...plan, placements, deferrals, outcomes: outcomesOf(placed), followUp };
};

const after = ({ placements, unplaced }: Placed, waiting: number, until: Instant | undefined): EvaluationOutcome => {
  if (unplaced) return { kind: 'waiting', ...waitingFor(unplaced), ...(until !== undefined && { until }) };
  return placements.length < waiting ? { kind: 'again', because: 'more' } : { kind: 'placed' };
};

/** A deferral is recorded when its reason changes, not at each look. */
const isKnown = ({ lastDecision: last }: ClusterJob, { placements, unplaced }: Placed): boolean =>
  placements.length === 0 &&
  unplaced !== undefined &&
  last?.partition === unplaced.partition &&
  last.digest === reasonsDigest(unplaced);
