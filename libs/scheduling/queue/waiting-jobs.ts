import { Heap } from '#kernel';
import { isBefore } from './turn.js';
import type { Turn } from './turn.js';

interface ShapeClass {
  readonly turns: Heap<Turn>;
  readonly members: Set<string>;
  wakesOn: ReadonlySet<string>;
}

/**
 * Jobs that were looked at and could not be placed, grouped by shape: jobs of one shape get the same answer, so an event
 * that may help is answered by a look at the first of each class, and at the next one only when that one was placed.
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

  /** `wakesOn` replaces what the class waited for: it is the newest answer. */
  add(turn: Turn, shape: string, wakesOn: readonly string[]): void {
    this.remove(turn.jobId);
    const known = this.classes.get(shape) ?? { turns: new Heap(isBefore), members: new Set(), wakesOn: new Set() };
    known.wakesOn = new Set(wakesOn);
    known.members.add(turn.jobId);
    known.turns.push(turn);
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
      const head = known.wakesOn.has(eventType) ? this.headOf(known) : undefined;
      if (head) heads.push(head);
    }
    return heads;
  }

  /** The first job of a class, for the look after one of it was placed. */
  head(shape: string): Turn | undefined {
    const known = this.classes.get(shape);
    return known && this.headOf(known);
  }

  /** Every waiting job: for the safety sweep. */
  all(): string[] {
    return [...this.shapes.keys()];
  }

  /** Heaps do not delete from the middle: who left is skipped when it comes up. */
  private headOf(known: ShapeClass): Turn | undefined {
    for (let turn = known.turns.peek(); turn; turn = known.turns.peek()) {
      if (known.members.has(turn.jobId)) return turn;
      known.turns.pop();
    }
    return undefined;
  }
}
