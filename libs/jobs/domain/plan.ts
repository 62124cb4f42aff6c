import type { PlannedPlacement, RecordPlan } from './commands.js';
import { deferralKey } from './decision.js';
import type { Decision } from './decision.js';
import type { JobEvent } from './events.js';
import { hasTargets } from './job-spec.js';
import type { JobState } from './state.js';
import { hasNoNode } from './targets.js';

/* What a scheduler's plan comes to in the job's stream. */

/** The same plan came before: a plan is stored whole, so one whose reservations are all known changes nothing more. */
export const isRecorded = ({ placements }: RecordPlan, job: JobState): boolean =>
  placements.length > 0 &&
  placements.every(({ executionId, nodeId }) => job.executions[executionId]?.nodeId === nodeId);

/** The events of the plan's decisions; undefined when they were not made for this state of the job. */
export const decisionsOf = (plan: RecordPlan, job: JobState): JobEvent[] | undefined => {
  const { placements, deferrals } = plan;
  if (job.blocked) return undefined;
  const decisions = [...placements.map(({ decision }) => decision), ...deferrals];
  if (decisions.length > 0 && (job.paused || job.cancelRequested !== undefined)) return undefined;
  if (!areOfWaiting(decisions, job) || !areNew(placements, job) || !areAtTarget(placements, job)) return undefined;
  if (placements.some(({ decision }) => !job.partitions[decision.partition])) return undefined;
  const events: JobEvent[] = [];
  let number = job.decisions;
  for (const [index, placement] of placements.entries()) {
    if (placement.decision.number !== (number += 1)) return undefined;
    events.push(...reserved(placement, index, plan, job));
  }
  for (const deferral of deferrals) {
    if (deferral.number !== number + 1) return undefined;
    if (isSame(deferral, events.length, job)) continue;
    number += 1;
    events.push({ type: 'PlacementDecided', data: deferral });
  }
  return events;
};

/** Each for another partition, and each of these waits; or for a daemon as a whole that waits for a node to match. */
const areOfWaiting = (decisions: readonly Decision[], job: JobState): boolean =>
  new Set(decisions.map(({ partition }) => partition)).size === decisions.length &&
  decisions.every(({ partition }) => job.partitions[partition]?.state === 'waiting' || isOfWhole(partition, job));

const isOfWhole = (partition: number, { spec, partitions }: JobState): boolean =>
  spec?.type === 'daemon' && partition === partitions.length && hasNoNode(partitions);

/** No claim that the job knows, be it as an execution or as one that was fenced off. */
const areNew = (placements: readonly PlannedPlacement[], job: JobState): boolean =>
  new Set(placements.map(({ executionId }) => executionId)).size === placements.length &&
  placements.every(({ executionId }) => !job.executions[executionId] && !job.abandoned.includes(executionId));

const areAtTarget = (placements: readonly PlannedPlacement[], { partitions }: JobState): boolean =>
  placements.every(({ decision, nodeId }) => (partitions[decision.partition]?.target ?? nodeId) === nodeId);

const reserved = (
  { decision, ...claim }: PlannedPlacement,
  index: number,
  { at }: RecordPlan,
  job: JobState,
): JobEvent[] => {
  const { partition } = decision;
  const attempt = (job.partitions[partition]?.tries ?? 0) + 1;
  const fencingToken = job.reservations + 1 + index;
  const data = { ...claim, partition, attempt, fencingToken, at };
  return [
    { type: 'PlacementDecided', data: decision },
    { type: 'ExecutionReserved', data },
  ];
};

/** A deferral is recorded when its reason changes, not at each look. */
const isSame = (deferral: Decision, before: number, job: JobState): boolean =>
  lastDeferral(deferral, before, job) === deferralKey(deferral);

/** Partitions of a job with targets wait for different reasons; those of others for the same, unless one was placed before. */
const lastDeferral = ({ partition }: Decision, before: number, job: JobState): string | undefined => {
  const own = job.partitions[partition];
  if (job.spec && hasTargets(job.spec.type) && own) return own.deferral;
  return job.lastDecision && before === 0 ? deferralKey(job.lastDecision) : undefined;
};
