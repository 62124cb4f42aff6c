import { byText, hash32 } from '#kernel';
import type { NodeColumns } from '../cluster/columns.js';
import type { PlacementRequest } from '../request.js';
import { tieOf } from '../scores/score.js';
import { ELIGIBLE } from './patterns.js';
import type { ShapeBoard } from './shape-board.js';

/**
 * The order of a board's eligible nodes for one request: nodes where a try failed after all others, then by score, then by
 * the tie's number, then by id.
 */
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

  /** The places of the first `count` nodes. */
  first(count: number): number[] {
    const leaders = new Leaders(count);
    const { pattern, considered } = this.board;
    for (let place = 0; place < considered; place += 1) {
      if (pattern[place] === ELIGIBLE && !this.late.has(place)) this.offer(leaders, place);
    }
    if (leaders.places.length === count || this.late.size === 0) return leaders.places;
    const last = new Leaders(count - leaders.places.length);
    for (const place of this.late) if (pattern[place] === ELIGIBLE) this.offer(last, place);
    return [...leaders.places, ...last.places];
  }

  /** How many nodes come before the one at this place. */
  before(place: number): number {
    const { pattern, considered } = this.board;
    let count = 0;
    for (let other = 0; other < considered; other += 1) {
      if (pattern[other] === ELIGIBLE && this.compare(other, place) < 0) count += 1;
    }
    return count;
  }

  private offer(leaders: Leaders, place: number): void {
    const score = this.board.score[place] ?? 0;
    if (score < leaders.least) return;
    leaders.offer(place, score, tieOf(this.jobHash, this.columns.hashes[place] ?? 0), this.columns);
  }

  private compare(left: number, right: number): number {
    const { score } = this.board;
    const { hashes, nodes } = this.columns;
    return (
      Number(this.late.has(left)) - Number(this.late.has(right)) ||
      (score[right] ?? 0) - (score[left] ?? 0) ||
      tieOf(this.jobHash, hashes[left] ?? 0) - tieOf(this.jobHash, hashes[right] ?? 0) ||
      byText(nodes[left]?.id ?? '', nodes[right]?.id ?? '')
    );
  }
}

/** The best of what was offered so far, in columns, because thousands of nodes are offered and few stay. */
class Leaders {
  readonly places: number[] = [];
  private readonly scores: number[] = [];
  private readonly ties: number[] = [];
  /** What a score must reach to get in. */
  least = -1;

  constructor(private readonly count: number) {}

  offer(place: number, score: number, tie: number, columns: NodeColumns): void {
    const { places, scores, ties, count } = this;
    let at = places.length;
    while (at > 0 && this.isBefore(place, score, tie, at - 1, columns)) at -= 1;
    if (at >= count) return;
    places.splice(at, 0, place);
    scores.splice(at, 0, score);
    ties.splice(at, 0, tie);
    if (places.length > count) for (const column of [places, scores, ties]) column.pop();
    if (places.length === count) this.least = scores[count - 1] ?? -1;
  }

  private isBefore(place: number, score: number, tie: number, at: number, { nodes }: NodeColumns): boolean {
    const known = this.scores[at] ?? 0;
    if (score !== known) return score > known;
    const knownTie = this.ties[at] ?? 0;
    if (tie !== knownTie) return tie < knownTie;
    return byText(nodes[place]?.id ?? '', nodes[this.places[at] ?? -1]?.id ?? '') < 0;
  }
}
