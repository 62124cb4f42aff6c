import { columnsOf } from '../cluster/columns.js';
import type { ClusterState } from '../cluster/state.js';
import type { PlacementRequest } from '../request.js';
import { ShapeBoard } from './shape-board.js';
import { shapeKey } from './shape-key.js';

/** Rows of all boards together (about 100 bytes each); the boards that were not asked for longest are dropped. */
const MOST_ROWS = 2_000_000;
/** However many nodes there are, so many shapes are remembered. */
const LEAST_BOARDS = 16;

/** By shape, the one asked for last at the end. */
const boards = new WeakMap<ClusterState, Map<string, ShapeBoard>>();

/** The board of a request's shape, as old as its last look. */
export const boardOf = (request: PlacementRequest, cluster: ClusterState): ShapeBoard => {
  const known = boardsOf(cluster);
  const key = shapeKey(request, cluster);
  const board = known.get(key) ?? new ShapeBoard(columnsOf(cluster), request, cluster);
  known.delete(key);
  known.set(key, board);
  dropOldest(known, cluster.nodes.size);
  return board;
};

const boardsOf = (cluster: ClusterState): Map<string, ShapeBoard> => {
  const known = boards.get(cluster);
  if (known) return known;
  const made = new Map<string, ShapeBoard>();
  boards.set(cluster, made);
  return made;
};

const dropOldest = (known: Map<string, ShapeBoard>, nodes: number): void => {
  const most = Math.max(LEAST_BOARDS, Math.floor(MOST_ROWS / Math.max(1, nodes)));
  for (const key of known.keys()) {
    if (known.size <= most) return;
    known.delete(key);
  }
};
