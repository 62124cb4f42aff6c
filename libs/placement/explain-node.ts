import { toInstant, toMillis } from '#kernel';
import type { Instant, Millis } from '#kernel';
import type { FilteredReason, RankedNode, ReasonSide } from '#jobs';
import type { Contract } from '#nodes';
import type { ClusterNode, ClusterState } from './cluster/state.js';
import { chooseContract } from './contract.js';
import type { DecisionContext } from './decide.js';
import { demandOf } from './demand.js';
import { NEVER, PASS } from './filters/check.js';
import type { Check } from './filters/check.js';
import { funnel } from './filters/funnel.js';
import { REASONS } from './filters/reasons.js';
import { checksFor } from './filters/stages.js';
import type { PlacementRequest } from './request.js';
import { before, rankedNode, scoreboard } from './scores/score.js';
import { formatValue } from './units.js';

/** One failing reason of one node with the values compared. */
export interface NodeReason {
  readonly reason: string;
  readonly side: ReasonSide;
  readonly never: boolean;
  readonly description: string;
  /** How it stops being so. */
  readonly lifted: string;
  readonly asked?: string;
  readonly has?: string;
  /** When time alone lifts it. */
  readonly until?: Instant;
}

/** What a request comes to on one node: unknown, filtered out with every reason, or ranked. */
export type NodeExplanation =
  | { readonly kind: 'unknown'; readonly nodeId: string }
  | { readonly kind: 'filtered'; readonly nodeId: string; readonly reasons: readonly NodeReason[] }
  | EligibleNode;

export interface EligibleNode {
  readonly kind: 'eligible';
  readonly nodeId: string;
  /** From 1, of `eligible`. */
  readonly place: number;
  readonly eligible: number;
  readonly ranked: RankedNode;
  /** The part of their way to 1 that preferences lifted the node's values, in 0…1. */
  readonly lift: number;
  /** A try failed here, so all other eligible nodes come first. */
  readonly avoided: boolean;
  readonly contract: Contract | undefined;
}

/** Why there, or why not there: made with the same checks and scores as the decision in the same context. */
export const explainNode = (
  request: PlacementRequest,
  cluster: ClusterState,
  context: Pick<DecisionContext, 'time'>,
  nodeId: string,
): NodeExplanation => {
  const node = cluster.nodes.get(nodeId);
  if (!node) return { kind: 'unknown', nodeId };
  const at = toMillis(context.time);
  const checks = checksFor(request, cluster);
  const reasons = checks.filter((check) => check.test(node, at) !== PASS).map((check) => reasonOf(check, node, at));
  if (reasons.length > 0) return { kind: 'filtered', nodeId, reasons };
  return eligible(request, cluster, checks, node, at);
};

const reasonOf = (check: Check, node: ClusterNode, at: Millis): NodeReason => {
  const { side, description, lifted, unit } = REASONS[check.code];
  const has = check.offer(node, at);
  const until = check.until(node, at);
  return {
    reason: check.code,
    side,
    never: check.test(node, at) === NEVER,
    description,
    lifted,
    ...(check.asked === undefined ? {} : { asked: check.asked }),
    ...(has === undefined ? {} : { has: formatValue(unit, has) }),
    ...(until === undefined ? {} : { until: toInstant(until) }),
  };
};

const eligible = (
  request: PlacementRequest,
  cluster: ClusterState,
  checks: readonly Check[],
  node: ClusterNode,
  at: Millis,
): EligibleNode => {
  const board = scoreboard(request, funnel(checks, cluster.nodes.values(), at).eligible, at);
  const index = board.nodes.indexOf(node);
  return {
    kind: 'eligible',
    nodeId: node.id,
    place: before(board, index) + 1,
    eligible: board.nodes.length,
    ranked: rankedNode(board, index),
    lift: board.lifts[index] ?? 0,
    avoided: request.avoid.has(node.id),
    contract: chooseContract(node, demandOf(request.spec)),
  };
};

/**
 * Why no enrolled node can ever take the request, for a warning at submission: the lasting reasons with their node counts.
 * Empty when at least one node could, or when no node has enrolled yet.
 */
export const neverReasons = (request: PlacementRequest, cluster: ClusterState): readonly FilteredReason[] => {
  const { considered, possible, filtered } = funnel(checksFor(request, cluster), cluster.nodes.values(), 0);
  return considered > 0 && possible === 0 ? filtered.filter(({ never }) => never) : [];
};
