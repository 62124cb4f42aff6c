import assert from 'node:assert/strict';
import { fold } from '#kernel';
import { jobDecider, jobStream } from '#jobs';
import type { JobEvent, RecordPlan } from '#jobs';
import type { World } from '#placement/testing';
import { verifyPoint } from '../derivation/verify.js';
import type { Verdict } from '../derivation/verify.js';
import { DecisionWalk } from '../derivation/walk.js';
import type { Recorded } from '../derivation/walk.js';
import type { Plan } from '../planner/plan.js';

/** Records a plan in a world's log as the state updater would: the claims, then all that the job's own decider makes of it. */
export const carryOut = (world: World, plan: Plan): void => {
  const { jobId, project, placements, deferrals, targets, stops, end, at } = plan;
  for (const { executionId, nodeId, contract, confirmBy } of placements) {
    const data = { executionId, jobId, project, contract, expiresAt: confirmBy, at };
    world.onNode(nodeId, { type: 'CapacityReserved', data });
  }
  const events = world.events.filter(({ stream }) => stream === jobStream(jobId)) as unknown as JobEvent[];
  const optional = { ...(targets && { targets }), ...(end && { end }) };
  const command: RecordPlan = { type: 'RecordPlan', placements, deferrals, stops, ...optional, at };
  const answer = jobDecider.decide(command, fold(jobDecider, events));
  assert.ok(answer.kind === 'accepted', 'a plan that was just made is accepted');
  for (const event of answer.events) world.onJob(jobId, event);
};

/** What deriving again says of the decisions and changes of nodes of one evaluation. */
export const verdictsOf = (world: World, evaluationId: string): Verdict[] => {
  const walk = new DecisionWalk((one) => evaluationOf(one) === evaluationId, Infinity);
  const verdicts: Verdict[] = [];
  // A point is looked at before the walk goes on.
  for (const event of world.events) for (const point of walk.push(event)) verdicts.push(verifyPoint(point));
  for (const point of walk.end()) verdicts.push(verifyPoint(point));
  return verdicts;
};

const evaluationOf = (one: Recorded): string => ('decision' in one ? one.decision : one.targets).evaluationId;
