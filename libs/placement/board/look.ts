import type { FilteredReason } from '#jobs';
import type { Millis } from '#kernel';
import { columnsOf } from '../cluster/columns.js';
import type { NodeColumns } from '../cluster/columns.js';
import type { ClusterState } from '../cluster/state.js';
import { endsInLine } from '../filters/pool.js';
import { checksOfAll } from '../filters/stages.js';
import type { PlacementRequest } from '../request.js';
import { profileOf } from '../scores/profiles.js';
import { boardOf } from './boards.js';
import { filteredReason, requestReasons } from './counted-reasons.js';
import type { Look } from './answer.js';
import { Order } from './leaders.js';
import type { ShapeBoard } from './shape-board.js';
import { lookAtTarget } from './target-look.js';

/** Filters and scores every node for a request, or its target alone. */
export const lookAt = (request: PlacementRequest, cluster: ClusterState, at: Millis): Look =>
  request.target === undefined ? lookAtAll(request, cluster, at) : lookAtTarget(request, request.target, cluster, at);

const lookAtAll = (request: PlacementRequest, cluster: ClusterState, at: Millis): Look => {
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
    inLine: (nodeIds) => (open ? inLine(board, columns, nodeIds) : []),
    placeOf: (node) => order.before(columns.placeOf(node.id) ?? -1) + 1,
  };
};

/**
 * The nodes of which a request asks what others of its shape do not: those it excludes, and those that hold something of the
 * job where that counts.
 */
const namedPlaces = (request: PlacementRequest, cluster: ClusterState): number[] => {
  const { exclusions, jobId, spec } = request;
  const counts = profileOf(spec).strategy === 'spread';
  const holders = counts ? (cluster.holdings.get(jobId)?.keys() ?? []) : [];
  const named = new Set([...exclusions.keys(), ...holders]);
  const columns = columnsOf(cluster);
  return [...named].flatMap((nodeId) => columns.placeOf(nodeId) ?? []);
};

const inLine = (board: ShapeBoard, columns: NodeColumns, nodeIds: Iterable<string>): ReturnType<Look['inLine']> => {
  const waits = board.patterns.list.map(
    ({ places, never }) =>
      !never && places.length > 0 && places.every((place) => endsInLine(board.checkAt(place).code)),
  );
  return [...nodeIds].flatMap((nodeId) => {
    const place = columns.placeOf(nodeId) ?? -1;
    return waits[board.pattern[place] ?? -1] === true
      ? [{ node: board.nodeAt(place), lasts: board.lastsAt(place) }]
      : [];
  });
};

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
