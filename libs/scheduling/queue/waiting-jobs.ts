import { Heap } from '#kernel';
import { isBefore } from './turn.js';
import type { Turn } from './turn.js';

interface ShapeClass {
  /** The members in turn, and turns of some that have left. */
  turns: Heap<Turn>;
  readonly members: Map<string, Turn>;
  wakesOn: ReadonlySet<string>;
}

/** Turns of those who left, over the number of members, before the heap is made anew. */
const MOST_STALE = 16;

/**
 * Jobs that were looked at and could not be placed, grouped by shape: jobs of one shape get the same answer, so an event
 * that may help is answered by a look at the first of each class, and at the next one only when that one was placed or
 * left the class.
 */
export class WaitingJobs {
  private readonly classes = new Map<string, ShapeClass>();
  private readonly shapes = new Map<string, string>();

  get size(): number {
    return this.shapes.size;
  }

  has(jobId: string): boolean {
    return this.shapes.has(jobId);
  }

  /** The class that the job waits in. */
  shapeOf(jobId: string): string | undefined {
    return this.shapes.get(jobId);
  }

  /** `wakesOn` replaces what the class waited for: it is the newest answer. A job waits in one class at a time. */
  add(turn: Turn, shape: string, wakesOn: readonly string[]): void {
    if (this.shapes.get(turn.jobId) !== shape) this.remove(turn.jobId);
    const known = this.classes.get(shape) ?? emptyClass();
    known.wakesOn = new Set(wakesOn);
    const before = known.members.get(turn.jobId);
    if (!before || isBefore(before, turn) || isBefore(turn, before)) {
      known.members.set(turn.jobId, turn);
      known.turns.push(turn);
      compact(known);
    }
    this.classes.set(shape, known);
    this.shapes.set(turn.jobId, shape);
  }

  remove(jobId: string): void {
    const shape = this.shapes.get(jobId);
    if (shape === undefined) return;
    this.shapes.delete(jobId);
    const known = this.classes.get(shape);
    known?.members.delete(jobId);
    if (known?.members.size === 0) this.classes.delete(shape);
  }

  /** The first job of each class that this kind of event could help. */
  wokenBy(eventType: string): Turn[] {
    const heads: Turn[] = [];
    for (const known of this.classes.values()) {
      const head = known.wakesOn.has(eventType) ? headOf(known) : undefined;
      if (head) heads.push(head);
    }
    return heads;
  }

  /** The first job of a class, for the look after one of it was placed. */
  head(shape: string): Turn | undefined {
    const known = this.classes.get(shape);
    return known && headOf(known);
  }

  /** Every waiting job: for the safety sweep. */
  all(): string[] {
    return [...this.shapes.keys()];
  }
}

const emptyClass = (): ShapeClass => ({ turns: new Heap(isBefore), members: new Map(), wakesOn: new Set() });

/** Heaps do not delete from the middle: who left, or has another turn now, is skipped when it comes up. */
const headOf = ({ turns, members }: ShapeClass): Turn | undefined => {
  for (let turn = turns.peek(); turn; turn = turns.peek()) {
    if (members.get(turn.jobId) === turn) return turn;
    turns.pop();
  }
  return undefined;
};

const compact = (known: ShapeClass): void => {
  if (known.turns.size <= 2 * known.members.size + MOST_STALE) return;
  known.turns = new Heap(isBefore);
  for (const turn of known.members.values()) known.turns.push(turn);
};
