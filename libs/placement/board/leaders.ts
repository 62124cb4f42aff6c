import { hash32 } from '#kernel';
import type { NodeColumns } from '../cluster/columns.js';
import type { PlacementRequest } from '../request.js';
import { compareNodes, tieOf } from '../scores/score.js';
import type { Standpoint } from '../scores/score.js';
import { ELIGIBLE } from './patterns.js';
import type { ShapeBoard } from './shape-board.js';

/** The order of a board's eligible nodes for one request. */
export class Order {
  private readonly jobHash: number;
  private readonly late: ReadonlySet<number>;

  constructor(
    private readonly board: ShapeBoard,
    private readonly columns: NodeColumns,
    { jobId, avoid }: PlacementRequest,
  ) {
    this.jobHash = hash32(jobId);
    this.late = new Set([...avoid].flatMap((nodeId) => columns.placeOf(nodeId) ?? []));
  }

  /** The places of the first `count` nodes. One pass over the scores; only those that may enter are looked at closer. */
  first(count: number): number[] {
    const best: Standpoint[] = [];
    const places: number[] = [];
    const { pattern, considered, score } = this.board;
    // While no node is late, a lower score than that of the last leader is enough to pass over.
    const bar = this.late.size === 0;
    let least = -1;
    for (let place = 0; place < considered; place += 1) {
      if (pattern[place] !== ELIGIBLE || (bar && (score[place] ?? 0) < least)) continue;
      const candidate = this.standpoint(place);
      let at = best.length;
      while (at > 0 && compareNodes(candidate, best[at - 1] as Standpoint) < 0) at -= 1;
      if (at >= count) continue;
      best.splice(at, 0, candidate);
      places.splice(at, 0, place);
      if (best.length > count) {
        best.pop();
        places.pop();
      }
      if (best.length === count) least = best[count - 1]?.score ?? -1;
    }
    return places;
  }

  /** How many nodes come before the one at this place. */
  before(place: number): number {
    const { pattern, considered } = this.board;
    const own = this.standpoint(place);
    let count = 0;
    for (let other = 0; other < considered; other += 1) {
      if (pattern[other] === ELIGIBLE && compareNodes(this.standpoint(other), own) < 0) count += 1;
    }
    return count;
  }

  private standpoint(place: number): Standpoint {
    return {
      nodeId: this.columns.nodes[place]?.id ?? '',
      late: this.late.has(place),
      score: this.board.score[place] ?? 0,
      tie: tieOf(this.jobHash, this.columns.hashes[place] ?? 0),
    };
  }
}
