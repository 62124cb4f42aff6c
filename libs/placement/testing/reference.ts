import { byText, hash32, toInstant, toMillis } from '#kernel';
import type { Decision, FilteredReason, RankedNode } from '#jobs';
import { betterOffer } from '../board/offers.js';
import type { JobMix } from '../cluster/mix.js';
import type { ClusterNode, ClusterState } from '../cluster/state.js';
import type { DecisionContext } from '../decide.js';
import { NEVER, PASS } from '../filters/check.js';
import type { Check, Offer } from '../filters/check.js';
import { REASONS } from '../filters/reasons.js';
import { checksOfAll, checksOfEach } from '../filters/stages.js';
import type { PlacementRequest } from '../request.js';
import { costValue } from '../scores/cost.js';
import { availabilityOf, reliabilityOf, standingOf } from '../scores/measures.js';
import { profileOf } from '../scores/profiles.js';
import { rankedNode, tieOf } from '../scores/score.js';
import { formatValue } from '../units.js';

/* What a decision must say, worked out node by node without remembering anything: what the boards have to come to. */

type Expected = Pick<Decision, 'considered' | 'possible' | 'eligible' | 'filtered' | 'ranking' | 'wakesAt'>;

export const referenceDecision = (
  request: PlacementRequest,
  cluster: ClusterState,
  { time }: Pick<DecisionContext, 'time'>,
): Expected => {
  const at = toMillis(time);
  const checks = checksOfEach(request, cluster);
  const failing = checksOfAll(request, cluster).filter(({ holds }) => !holds);
  const nodes = [...cluster.nodes.values()].filter(({ id }) => id === (request.target ?? id));
  const passing = nodes.filter((node) => checks.every((check) => check.test(node, at) === PASS));
  const eligible = failing.length === 0 ? passing : [];
  const wakesAt = Math.min(...nodes.map((node) => liftedAt(checks, node, at)), Infinity);
  const ofRequest = failing.map(({ code, asked, offer }, index) =>
    reason({ code, asked }, false, index === 0 ? nodes.length : 0, index === 0 ? 0 : nodes.length, offer),
  );
  return {
    considered: nodes.length,
    possible: nodes.filter((node) => checks.every((check) => check.test(node, at) !== NEVER)).length,
    eligible: eligible.length,
    filtered: nodes.length === 0 ? [] : [...ofRequest, ...reasonsOf(checks, nodes, failing.length === 0, at)],
    ranking: rank(request, eligible, cluster.mix, at).slice(0, 5),
    ...(eligible.length === 0 && Number.isFinite(wakesAt) && { wakesAt: toInstant(wakesAt) }),
  };
};

const liftedAt = (checks: readonly Check[], node: ClusterNode, at: number): number => {
  const failed = checks.filter((check) => check.test(node, at) !== PASS);
  if (failed.some((check) => check.test(node, at) === NEVER)) return Infinity;
  return Math.min(...failed.map((check) => check.until(node, at) ?? Infinity), Infinity);
};

const reasonsOf = (
  checks: readonly Check[],
  nodes: readonly ClusterNode[],
  first: boolean,
  at: number,
): FilteredReason[] =>
  checks.flatMap((check, index) =>
    [false, true].flatMap((never) => {
      const having = nodes.filter((node) => {
        const verdict = check.test(node, at);
        return verdict !== PASS && (verdict === NEVER) === never;
      });
      const before = checks.slice(0, index);
      const primary = first ? having.filter((node) => before.every((other) => other.test(node, at) === PASS)) : [];
      const compared = REASONS[check.code].better === 'own' ? [] : having;
      const best = compared
        .map((node) => check.offer(node, at))
        .reduce((l, r) => betterOffer(check.code, l, r), undefined);
      return having.length === 0 ? [] : [reason(check, never, primary.length, having.length - primary.length, best)];
    }),
  );

const reason = (
  { code, asked }: Pick<Check, 'code' | 'asked'>,
  never: boolean,
  nodes: number,
  also: number,
  best: Offer,
): FilteredReason => ({
  reason: code,
  side: REASONS[code].side,
  never,
  nodes,
  also,
  ...(asked !== undefined && { asked }),
  ...(best !== undefined && { best: formatValue(REASONS[code].unit, best) }),
});

const rank = (request: PlacementRequest, nodes: readonly ClusterNode[], mix: JobMix, at: number): RankedNode[] => {
  const profile = profileOf(request.spec);
  const { estimate, budget } = request.spec;
  const standings = nodes.map((node) => ({ node, ...standingOf(node, request, profile, mix) }));
  const costs = standings.map(({ cost }) => cost);
  const scale = { cheapest: Math.min(Infinity, ...costs.filter((cost) => cost > 0)), someFree: costs.includes(0) };
  const maxCost = estimate.duration === undefined ? undefined : budget?.maxCost;
  return standings
    .map(({ node, resources, queue, cost, lift, inputs }) => {
      const reliability = reliabilityOf(node, request, at);
      const availability = availabilityOf(node, request, at);
      const measures = {
        resources,
        reliability,
        availability,
        queue,
        cost: { raw: cost, value: costValue(cost, scale, maxCost) },
      };
      const ranked = rankedNode(node.id, measures, { lift, inputs }, profile.weights);
      const tie = tieOf(hash32(request.jobId), hash32(node.id));
      return { ...ranked, tie, late: request.avoid.has(node.id) };
    })
    .sort(
      (left, right) =>
        Number(left.late) - Number(right.late) ||
        right.score - left.score ||
        left.tie - right.tie ||
        byText(left.nodeId, right.nodeId),
    )
    .map(({ tie: _tie, late: _late, ...ranked }) => ranked);
};
