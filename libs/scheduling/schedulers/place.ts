import { plusSeconds } from '#kernel';
import type { Instant } from '#kernel';
import type { Decision, DecisionOutcome, PlannedPlacement } from '#jobs';
import { assume, decide, reasonsDigest, requestOf, sameHolds, unassume, waitingPartitions } from '#placement';
import type { ClusterJob, ClusterState } from '#placement';
import type { Plan } from '../planner/plan.js';
import type { Waiting } from '../worker/job-scheduler.js';

/** What a pass knows beside the job and the cluster. */
export interface Pass {
  readonly evaluationId: string;
  /** What asked for it. */
  readonly trigger: string;
  readonly now: Instant;
  /** A new id for an execution of the job. */
  readonly nextExecution: () => string;
}

/** New executions of one job in one pass at most, so that a huge one does not keep the others waiting (S-06). */
export const MOST_PER_PASS = 20;

/** A plan that does nothing yet. */
export const emptyPlan = (job: ClusterJob, cluster: ClusterState, { evaluationId, now }: Pass): Plan => ({
  jobId: job.id,
  project: job.spec.project,
  evaluationId,
  revision: job.revision,
  position: cluster.position,
  assumed: [...cluster.assumed.keys()],
  at: now,
  placements: [],
  deferrals: [],
  stops: [],
  outcomes: [],
  followUp: { kind: 'idle' },
});

export interface Placed {
  readonly placements: readonly PlannedPlacement[];
  /** Decisions that placed nothing, numbered behind those that did. */
  readonly unplaced: readonly Decision[];
}

/**
 * Decides for one partition after the other, each with the ones before it taken for granted, for as long as `goesOn` says so
 * of what there is by then. The cluster is left as it was.
 */
export const placeInTurn = (
  job: ClusterJob,
  partitions: readonly number[],
  cluster: ClusterState,
  { nextExecution, ...pass }: Pass,
  goesOn: (placed: Placed) => boolean,
): Placed => {
  const placements: PlannedPlacement[] = [];
  const unplaced: Decision[] = [];
  try {
    for (const partition of partitions) {
      if (!goesOn({ placements, unplaced })) break;
      const last = placements.at(-1);
      if (last) assume(cluster, { ...last, jobId: job.id, project: job.spec.project });
      const number = job.decisions + placements.length + 1;
      const context = { ...pass, number, partition, time: pass.now };
      const { decision, nodeId, contract } = decide(requestOf(job, partition), cluster, context);
      const confirmBy = plusSeconds(pass.now, job.spec.timeouts.confirm);
      if (nodeId === undefined || !contract) unplaced.push(decision);
      else placements.push({ decision, executionId: nextExecution(), nodeId, contract, confirmBy });
    }
  } finally {
    for (const { executionId } of placements) unassume(cluster, executionId);
  }
  return { placements, unplaced: numberedFrom(job.decisions + placements.length + 1, unplaced) };
};

/** Nothing of a choice depends on its number. */
const numberedFrom = (first: number, decisions: readonly Decision[]): Decision[] =>
  decisions.map((decision, index) => ({ ...decision, number: first + index }));

export const outcomesOf = ({ placements, unplaced }: Placed): readonly DecisionOutcome[] =>
  [...placements.map(({ decision }) => decision), ...unplaced].map(({ outcome }) => outcome);

/** The partitions that may be placed now, the easiest first, and when the next of the others may be. */
export const dueOf = (job: ClusterJob, now: Instant): { readonly due: readonly number[]; readonly until?: Instant } => {
  const notBefore = (index: number): Instant => job.partitions[index]?.notBefore ?? '';
  const waiting = waitingPartitions(job);
  const due = waiting.filter((index) => notBefore(index) <= now);
  const later = waiting.map(notBefore).filter((moment) => moment > now);
  const until = later.sort()[0];
  return until === undefined ? { due } : { due, until };
};

/** A deferral is recorded when its reason, or what is kept for the job, changes, not at each look. */
export const isKnown = ({ lastDecision: last }: ClusterJob, decision: Decision): boolean =>
  last?.partition === decision.partition &&
  last.digest === reasonsDigest(decision) &&
  sameHolds(last.lines, decision.lines);

/** What the job waits for after a decision that placed nothing. */
export const waitingFor = (decision: Decision): Waiting => {
  const { wakesOn, wakesAt } = decision;
  const reasons = reasonsDigest(decision);
  return wakesAt === undefined ? { wakesOn, reasons } : { wakesOn, reasons, wakesAt };
};
