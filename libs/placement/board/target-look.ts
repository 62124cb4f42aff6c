import type { RankedNode } from '#jobs';
import type { Millis } from '#kernel';
import type { JobMix } from '../cluster/mix.js';
import type { ClusterNode, ClusterState } from '../cluster/state.js';
import { NEVER, PASS } from '../filters/check.js';
import type { Check } from '../filters/check.js';
import { checksOfAll, checksOfEach } from '../filters/stages.js';
import type { PlacementRequest } from '../request.js';
import { costValue } from '../scores/cost.js';
import { availabilityOf, reliabilityOf, standingOf } from '../scores/measures.js';
import { profileOf } from '../scores/profiles.js';
import type { ChosenProfile } from '../scores/profiles.js';
import { rankedNode } from '../scores/score.js';
import type { Look } from './answer.js';
import { countReasons, requestReasons } from './counted-reasons.js';

/**
 * What one node comes to for a request that may go nowhere else: the same checks and scores as where all are looked at, without
 * a board, for there is nothing to remember.
 */
export const lookAtTarget = (request: PlacementRequest, target: string, cluster: ClusterState, at: Millis): Look => {
  const node = cluster.nodes.get(target);
  const nodes = node ? [node] : [];
  const profile = profileOf(request.spec);
  const checks = checksOfEach(request, cluster);
  const failing = checksOfAll(request, cluster).filter(({ holds }) => !holds);
  const open = failing.length === 0;
  const failed = checks.filter((check) => node && check.test(node, at) !== PASS);
  const never = node !== undefined && failed.some((check) => check.test(node, at) === NEVER);
  const eligible = node && open && failed.length === 0 ? [node] : [];
  return {
    profile,
    considered: nodes.length,
    eligible: eligible.length,
    possible: never ? 0 : nodes.length,
    filtered: [...requestReasons(failing, nodes.length), ...countReasons(checks, nodes, at, open, () => true)],
    wakesAt: node && !never ? liftedAt(failed, node, at) : Infinity,
    first: (count) => eligible.slice(0, count),
    ranked: (one) => rankedAlone(request, one, profile, cluster.mix, at),
    inLine: () => [],
    placeOf: () => 1,
  };
};

const liftedAt = (failed: readonly Check[], node: ClusterNode, at: Millis): Millis =>
  Math.min(...failed.map((check) => check.until(node, at) ?? Infinity), Infinity);

/** Its cost is compared with that of no other. */
const rankedAlone = (
  request: PlacementRequest,
  node: ClusterNode,
  profile: ChosenProfile,
  mix: JobMix,
  at: Millis,
): RankedNode => {
  const { resources, queue, cost, lift, inputs } = standingOf(node, request, profile, mix);
  const { estimate, budget } = request.spec;
  const maxCost = estimate.duration === undefined ? undefined : budget?.maxCost;
  const scale = { cheapest: cost > 0 ? cost : Infinity, someFree: cost <= 0 };
  const measures = {
    resources,
    reliability: reliabilityOf(node, request, at),
    availability: availabilityOf(node, request, at),
    queue,
    cost: { raw: cost, value: costValue(cost, scale, maxCost) },
  };
  return rankedNode(node.id, measures, { lift, inputs }, profile.weights);
};
