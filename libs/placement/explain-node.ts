import { toInstant, toMillis } from '#kernel';
import type { Instant, Millis } from '#kernel';
import type { FilteredReason, RankedNode, ReasonSide } from '#jobs';
import type { Contract } from '#nodes';
import { lookAt } from './board/look.js';
import type { ClusterNode, ClusterState } from './cluster/state.js';
import { chooseContract } from './contract.js';
import type { DecisionContext } from './decide.js';
import { demandOf } from './demand.js';
import { NEVER, PASS } from './filters/check.js';
import type { Check, Offer, RequestCheck } from './filters/check.js';
import { REASONS } from './filters/reasons.js';
import type { ReasonCode, ReasonDefinition } from './filters/reasons.js';
import { checksOfAll, checksOfEach } from './filters/stages.js';
import type { PlacementRequest } from './request.js';
import { satisfies } from './requirements/constraint.js';
import { preferenceLift } from './scores/preferences.js';
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

export interface NodeAnswer {
  readonly nodeId: string;
  readonly reasons: readonly NodeReason[];
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
  const failing = checksOfAll(request, cluster).filter(({ holds }) => !holds);
  const failed = checksOfEach(request, cluster).filter((check) => check.test(node, at) !== PASS);
  const astray = request.target !== undefined && request.target !== nodeId;
  const elsewhere = astray ? [reasonOfCode('node.not-its-own', true, request.target, nodeId)] : [];
  const reasons = [...elsewhere, ...failing.map(requestReason), ...failed.map((check) => reasonOf(check, node, at))];
  if (reasons.length > 0) return { kind: 'filtered', nodeId, reasons };
  return eligible(request, cluster, node, at);
};

/** Each node's reasons against the request, as `explainNode` has them, in the order in which they enrolled; none for one that takes it. */
export const nodeAnswers = (request: PlacementRequest, cluster: ClusterState, at: Millis): readonly NodeAnswer[] => {
  const failing = checksOfAll(request, cluster).filter(({ holds }) => !holds);
  const checks = checksOfEach(request, cluster);
  return [...cluster.nodes.values()].map((node) => {
    const failed = checks.filter((check) => check.test(node, at) !== PASS);
    const reasons = [...failing.map(requestReason), ...failed.map((check) => reasonOf(check, node, at))];
    return { nodeId: node.id, reasons };
  });
};

/** The nodes that take the request now, best first, at most so many. */
export const bestNodes = (request: PlacementRequest, cluster: ClusterState, at: Millis, most: number): string[] =>
  lookAt(request, cluster, at)
    .first(most)
    .map(({ id }) => id);

/** How many of a job's preferences a node meets. */
export const preferencesMet = ({ spec }: PlacementRequest, cluster: ClusterState, nodeId: string): number => {
  const attributes = cluster.nodes.get(nodeId)?.facts.attributes;
  if (!attributes) return 0;
  return demandOf(spec).preferences.filter(({ constraint }) => satisfies(constraint, attributes)).length;
};

const requestReason = ({ code, asked, offer }: RequestCheck): NodeReason => reasonOfCode(code, false, asked, offer);

const reasonOfCode = (code: ReasonCode, never: boolean, asked: string | undefined, has: Offer): NodeReason => {
  const { side, description, lifted, liftedForEver, unit }: ReasonDefinition = REASONS[code];
  return {
    reason: code,
    side,
    never,
    description,
    lifted: never ? (liftedForEver ?? lifted) : lifted,
    ...(asked === undefined ? {} : { asked }),
    ...(has === undefined ? {} : { has: formatValue(unit, has) }),
  };
};

const reasonOf = (check: Check, node: ClusterNode, at: Millis): NodeReason => {
  const until = check.until(node, at);
  return {
    ...reasonOfCode(check.code, check.test(node, at) === NEVER, check.asked, check.offer(node, at)),
    ...(until === undefined ? {} : { until: toInstant(until) }),
  };
};

const eligible = (request: PlacementRequest, cluster: ClusterState, node: ClusterNode, at: Millis): EligibleNode => {
  const look = lookAt(request, cluster, at);
  return {
    kind: 'eligible',
    nodeId: node.id,
    place: look.placeOf(node),
    eligible: look.eligible,
    ranked: look.ranked(node),
    lift: preferenceLift(node, demandOf(request.spec).preferences),
    avoided: request.avoid.has(node.id),
    contract: chooseContract(node, demandOf(request.spec), cluster.mix),
  };
};

/**
 * Why no enrolled node can ever take the request, for a warning at submission: the lasting reasons with their node counts.
 * Empty when at least one node could, or when no node has enrolled yet.
 */
export const neverReasons = (
  request: PlacementRequest,
  cluster: ClusterState,
  at: Millis,
): readonly FilteredReason[] => {
  const { considered, possible, filtered } = lookAt(request, cluster, at);
  return considered > 0 && possible === 0 ? filtered.filter(({ never }) => never) : [];
};
