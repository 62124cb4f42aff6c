import { byText, toInstant, toMillis } from '#kernel';
import type { Instant } from '#kernel';
import { hasNoNode } from '#jobs';
import type { Decision, Ending } from '#jobs';
import { ALGORITHM, decide, MATCHING_EVENTS, reasonsDigest, requestOf, targetChange, wholeJob } from '#placement';
import type { ClusterJob, ClusterState, Matching } from '#placement';
import type { Plan } from '../planner/plan.js';
import type { EvaluationOutcome, Waiting } from '../worker/job-scheduler.js';
import { allMatchingNodes } from '../selection/selection.js';
import type { AllMatching } from '../selection/selection.js';
import { dueOf, emptyPlan, isKnown, MOST_PER_PASS, outcomesOf, placeInTurn, waitingFor } from './place.js';
import type { Pass, Placed } from './place.js';

/** Decisions that place nothing and are recorded in one pass at most: each node may have a reason of its own. */
const MOST_DEFERRALS = 100;

/**
 * What there should be of an `ops` job or a `daemon` and is not: on each of its nodes one execution.
 *
 * First its nodes: those of an `ops` job are the ones that match at its first pass, and the job fails if there are none;
 * those of a daemon follow the cluster for ever, and while there is none it says why. A change of them is a plan of its
 * own, so that what is decided for a new node is decided from a log that has it. Then each partition that waits is decided
 * for its own node; why it cannot be placed there says nothing of the others, and is recorded when it changes. A job that
 * is held gets nothing.
 *
 * Pure: the same job, cluster, time and ids give the same plan; nothing of it has happened.
 */
export const reconcileTargets = (job: ClusterJob, cluster: ClusterState, pass: Pass): Plan => {
  const plan = emptyPlan(job, cluster, pass);
  if (job.paused || job.blocked || job.cancelRequested) return plan;
  const fixed = job.spec.type === 'ops' && job.partitions.length > 0;
  if (fixed) return onTargets(plan, job, cluster, pass, undefined);
  const at = toMillis(pass.now);
  const matching = allMatchingNodes(wholeJob(job), cluster, at);
  const { added, removed } = targetChange(job, cluster, at, matching);
  if (added.length > 0 || removed.length > 0) {
    const { evaluationId, position } = plan;
    const targets = { evaluationId, position: String(position), algorithm: ALGORITHM, added, removed };
    return { ...plan, targets, followUp: { kind: 'again', because: 'more' } };
  }
  if (job.spec.type === 'ops') return { ...plan, end: nowhere(matching) };
  if (hasNoNode(job.partitions)) return onNone(plan, job, cluster, pass, matching);
  return onTargets(plan, job, cluster, pass, matching);
};

/** A daemon waits until a node matches; why none does is decided and recorded for the job as a whole. */
const onNone = (
  plan: Plan,
  job: ClusterJob,
  cluster: ClusterState,
  { evaluationId, trigger, now: time }: Pass,
  matching: Matching,
): Plan => {
  const partition = job.partitions.length;
  const context = { evaluationId, trigger, partition, time, number: job.decisions + 1 };
  const { decision } = decide(requestOf(job, partition), cluster, context);
  const deferrals = isKnown(job, decision) ? [] : [decision];
  const followUp: EvaluationOutcome = { kind: 'waiting', ...waitingToMatch(matching) };
  return { ...plan, deferrals, outcomes: [decision.outcome], followUp };
};

const onTargets = (
  plan: Plan,
  job: ClusterJob,
  cluster: ClusterState,
  pass: Pass,
  matching: Matching | undefined,
): Plan => {
  const { due, until } = dueOf(job, pass.now);
  const isNews = (decision: Decision): boolean =>
    job.partitions[decision.partition]?.digest !== reasonsDigest(decision);
  const goesOn = ({ placements, unplaced }: Placed): boolean =>
    placements.length < MOST_PER_PASS && unplaced.filter(isNews).length < MOST_DEFERRALS;
  const placed = placeInTurn(job, due, cluster, pass, goesOn);
  const { placements, unplaced } = placed;
  const deferrals = unplaced.filter(isNews);
  const more = placements.length + unplaced.length < due.length;
  const followUp = more ? MORE : after(unplaced, matching, until);
  return { ...plan, placements, deferrals: renumbered(job, placed, deferrals), outcomes: outcomesOf(placed), followUp };
};

const MORE: EvaluationOutcome = { kind: 'again', because: 'more' };

/** What is not recorded takes no number. */
const renumbered = (job: ClusterJob, { placements }: Placed, deferrals: readonly Decision[]): Decision[] =>
  deferrals.map((decision, index) => ({ ...decision, number: job.decisions + placements.length + index + 1 }));

/**
 * A daemon waits for ever: for whatever may change its nodes. A part of an `ops` job waits for its own node, whatever becomes of that,
 * and hears of it so that it says what the node lacks by now.
 */
const after = (
  unplaced: readonly Decision[],
  matching: Matching | undefined,
  until: Instant | undefined,
): EvaluationOutcome => {
  const waits = unplaced.map((decision) => ownNodeChanges(waitingFor(decision)));
  if (matching) waits.push(waitingToMatch(matching));
  const backoff = until === undefined ? {} : { until };
  if (waits.length > 0) return { kind: 'waiting', ...together(waits), ...backoff };
  return until === undefined ? { kind: 'placed' } : { kind: 'idle', until };
};

const ownNodeChanges = (waiting: Waiting): Waiting => ({
  ...waiting,
  wakesOn: [...waiting.wakesOn, ...MATCHING_EVENTS],
});

const waitingToMatch = ({ filtered, changesAt }: Matching): Waiting => ({
  wakesOn: MATCHING_EVENTS,
  reasons: reasonsDigest({ outcome: 'deferred', filtered }),
  ...(Number.isFinite(changesAt) && { wakesAt: toInstant(changesAt) }),
});

/** What helps any of them is to be heard of. */
const together = (waits: readonly Waiting[]): Waiting => {
  const wakesOn = [...new Set(waits.flatMap((one) => one.wakesOn))].sort(byText);
  const reasons = [...new Set(waits.flatMap((one) => one.reasons.split(' ')))].join(' ');
  const [wakesAt] = waits.flatMap((one) => one.wakesAt ?? []).sort(byText);
  return wakesAt === undefined ? { wakesOn, reasons } : { wakesOn, reasons, wakesAt };
};

const nowhere = ({ considered, reasons }: AllMatching): Ending => {
  const nodes = considered === 1 ? '1 node' : `${String(considered)} nodes`;
  const why = reasons.map((one) => `${String(one.nodes)}: ${one.text}`).join('; ');
  const message = considered === 0 ? 'no node has enrolled yet' : `none of ${nodes} matches (${why})`;
  return { class: 'policy', code: 'no-matching-nodes', message };
};
