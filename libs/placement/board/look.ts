import type { FilteredReason, RankedNode } from '#jobs';
import type { Millis } from '#kernel';
import { columnsOf } from '../cluster/columns.js';
import type { ClusterNode, ClusterState } from '../cluster/state.js';
import type { Check, Offer, RequestCheck } from '../filters/check.js';
import { REASONS } from '../filters/reasons.js';
import { checksOfAll } from '../filters/stages.js';
import type { PlacementRequest } from '../request.js';
import { profileOf } from '../scores/profiles.js';
import type { ChosenProfile } from '../scores/profiles.js';
import { formatValue } from '../units.js';
import { boardOf } from './boards.js';
import { Order } from './leaders.js';
import type { ShapeBoard } from './shape-board.js';

/** What all nodes come to for one request; to be read before the cluster changes or another request is looked at. */
export interface Look {
  readonly profile: ChosenProfile;
  readonly considered: number;
  readonly eligible: number;
  /** Nodes without a "never" among their reasons: they may take the job one day as they are. */
  readonly possible: number;
  readonly filtered: readonly FilteredReason[];
  /** When waiting alone may first let another node in; Infinity for never. */
  readonly wakesAt: Millis;
  /** The first eligible nodes in order, at most so many. */
  first(count: number): readonly ClusterNode[];
  ranked(node: ClusterNode): RankedNode;
  /** From 1, of the eligible. */
  placeOf(node: ClusterNode): number;
}

/** Filters and scores every node for a request. */
export const lookAt = (request: PlacementRequest, cluster: ClusterState, at: Millis): Look => {
  const board = boardOf(request, cluster);
  const columns = columnsOf(cluster);
  board.look(request, namedPlaces(request, cluster), cluster, at);
  const failing = checksOfAll(request, cluster).filter(({ holds }) => !holds);
  const open = failing.length === 0;
  const order = new Order(board, columns, request);
  return {
    profile: board.profile,
    considered: board.considered,
    eligible: open ? board.eligible : 0,
    possible: board.possible,
    filtered: [...requestReasons(failing, board.considered), ...nodeReasons(board, open, at)],
    wakesAt: board.liftedAt(),
    first: (count) => (open ? order.first(count).map((place) => board.nodeAt(place)) : []),
    ranked: (node) => board.ranked(columns.placeOf(node.id) ?? -1, request, at),
    placeOf: (node) => order.before(columns.placeOf(node.id) ?? -1) + 1,
  };
};

/**
 * The nodes of which a request asks what others of its shape do not: those it excludes, and those that hold something of the
 * job where that counts.
 */
const namedPlaces = (request: PlacementRequest, cluster: ClusterState): number[] => {
  const { exclusions, occupied, jobId, spec } = request;
  const counts = spec.type === 'daemon' || profileOf(spec).strategy === 'spread';
  const holders = counts ? (cluster.holdings.get(jobId)?.keys() ?? []) : [];
  const named = new Set([...exclusions.keys(), ...occupied, ...holders]);
  const columns = columnsOf(cluster);
  return [...named].flatMap((nodeId) => columns.placeOf(nodeId) ?? []);
};

/** The first failing question is every node's primary reason. */
const requestReasons = (failing: readonly RequestCheck[], considered: number): FilteredReason[] =>
  considered === 0
    ? []
    : failing.map((check, index) => {
        const counts = index === 0 ? { nodes: considered, also: 0 } : { nodes: 0, also: considered };
        return filteredReason(check, false, counts, check.offer);
      });

const nodeReasons = (board: ShapeBoard, primary: boolean, at: Millis): FilteredReason[] => {
  const { list, counts } = board.patterns;
  const nodes = new Map<number, { nodes: number; also: number }>();
  list.forEach(({ places }, number) => {
    const count = counts[number] ?? 0;
    if (count === 0) return;
    places.forEach((place, index) => {
      const tally = nodes.get(place) ?? { nodes: 0, also: 0 };
      if (primary && index === 0) tally.nodes += count;
      else tally.also += count;
      nodes.set(place, tally);
    });
  });
  return [...nodes]
    .sort(([left], [right]) => left - right)
    .map(([place, tally]) => filteredReason(board.checkAt(place), place % 2 === 1, tally, board.bestOffer(place, at)));
};

const filteredReason = (
  { code, asked }: Pick<Check, 'code' | 'asked'>,
  never: boolean,
  { nodes, also }: { readonly nodes: number; readonly also: number },
  best: Offer,
): FilteredReason => {
  const { side, unit } = REASONS[code];
  return {
    reason: code,
    side,
    never,
    nodes,
    also,
    ...(asked === undefined ? {} : { asked }),
    ...(best === undefined ? {} : { best: formatValue(unit, best) }),
  };
};
