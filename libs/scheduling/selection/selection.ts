import type { Millis } from '#kernel';
import { bestNodes, matchingNodes, reasonDefinition } from '#placement';
import type { ClusterState, Matching, PlacementRequest } from '#placement';
import { discover } from './discovery.js';
import type { NodeSource } from './discovery.js';
import { chainOf } from './rank.js';
import type { RankedNode, RankReason } from './rank.js';
import { byPreference, bySuitability, reasonOf } from './rankers.js';

/** A reason with the number of nodes that have it. */
export interface CountedReason extends RankReason {
  readonly nodes: number;
}

export interface NotEnoughNodes {
  readonly kind: 'not-enough-nodes';
  readonly requested: number;
  /** All there are, and those of them that are suitable. */
  readonly available: number;
  readonly suitable: number;
  /** Why the others are not, the commonest first. */
  readonly reasons: readonly CountedReason[];
}

export type TopNodes = { readonly kind: 'selected'; readonly nodes: readonly RankedNode[] } | NotEnoughNodes;

const enrolled = ({ nodes }: ClusterState): NodeSource => ({ name: 'the cluster', nodes: () => [...nodes.keys()] });

/** Every node that there is. */
export const allNodes = (cluster: ClusterState): readonly string[] => discover([enrolled(cluster)]).nodeIds;

export interface AllMatching extends Matching {
  /** Why the others do not match. */
  readonly reasons: readonly CountedReason[];
}

/** Every node that a job may and can run on, whether there is room now or not; and, with their numbers, why the others are not. */
export const allMatchingNodes = (request: PlacementRequest, cluster: ClusterState, at: Millis): AllMatching => {
  const matching = matchingNodes(request, cluster, at);
  const reasons = matching.filtered
    .filter(({ nodes }) => nodes > 0)
    .map(({ reason, never, nodes }) => {
      const description = reasonDefinition(reason)?.description ?? reason;
      return { ...reasonOf({ reason, never, description }), nodes };
    });
  return { ...matching, reasons };
};

/** The `count` nodes with the highest rank that take the job now; of one rank those that placement likes better come first. */
export const topMatchingNodes = (
  request: PlacementRequest,
  count: number,
  cluster: ClusterState,
  at: Millis,
): TopNodes => {
  const available = allNodes(cluster);
  const rank = chainOf([bySuitability(request, cluster, at), byPreference(request, cluster)]);
  const ranked = new Map(available.map((nodeId) => [nodeId, rank(nodeId)]));
  const suitable = bestNodes(request, cluster, at, available.length).flatMap((nodeId) => ranked.get(nodeId) ?? []);
  if (suitable.length >= count) {
    return { kind: 'selected', nodes: suitable.toSorted((left, right) => right.rank - left.rank).slice(0, count) };
  }
  const reasons = counted([...ranked.values()].filter((one) => one.rank < 0));
  const counts = { requested: count, available: available.length, suitable: suitable.length };
  return { kind: 'not-enough-nodes', ...counts, reasons };
};

/** By code, and whether it may change: the same code may be "never" on one node and pass on another. */
const counted = (unsuitable: readonly RankedNode[]): CountedReason[] => {
  const groups = new Map<string, CountedReason>();
  for (const { reasons } of unsuitable) {
    const why = reasons.at(-1);
    if (!why) continue;
    const key = `${why.code} ${String(why.retryable)}`;
    groups.set(key, { ...why, nodes: (groups.get(key)?.nodes ?? 0) + 1 });
  }
  return [...groups.values()].sort((left, right) => right.nodes - left.nodes);
};

/** The refusal in words: `not enough nodes: 3 requested, 5 available, 1 suitable (4: offline)`. */
export const inWords = ({ requested, available, suitable, reasons }: NotEnoughNodes): string => {
  const counts = `${String(requested)} requested, ${String(available)} available, ${String(suitable)} suitable`;
  const why = reasons.map(({ nodes, text }) => `${String(nodes)}: ${text}`).join('; ');
  return `not enough nodes: ${counts}${why === '' ? '' : ` (${why})`}`;
};
