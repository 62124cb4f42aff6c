import { Heap } from '#kernel';
import type { StatedReasons } from '#placement';
import { isBefore } from './turn.js';
import type { Turn } from './turn.js';

interface ShapeClass {
  readonly shape: string;
  /** The members in turn, and turns of some that have left. */
  turns: Heap<Turn>;
  readonly members: Map<string, Turn>;
  answer: Answer;
}

/** What a class waits for, and why. */
export interface Answer extends StatedReasons {
  /** Types of events. */
  readonly wakesOn: readonly string[];
}

export interface Head {
  readonly turn: Turn;
  readonly answer: Answer;
}

/** Turns of those who left, over the number of members, before the heap is made anew. */
const MOST_STALE = 16;

/**
 * Jobs that were looked at and could not be placed, grouped by shape: jobs of one shape get the same answer, so an event
 * that may help is answered by a look at the first of each class, and at the next one only when that one was placed or
 * left the class. What an event costs grows with the classes that wait for its kind, not with the jobs in them.
 */
export class WaitingJobs {
  private readonly classes = new Map<string, ShapeClass>();
  private readonly classOf = new Map<string, ShapeClass>();
  /** By kind of event. */
  private readonly waitingFor = new Map<string, Set<ShapeClass>>();

  get size(): number {
    return this.classOf.size;
  }

  has(jobId: string): boolean {
    return this.classOf.has(jobId);
  }

  /** The class that the job waits in. */
  shapeOf(jobId: string): string | undefined {
    return this.classOf.get(jobId)?.shape;
  }

  /** The answer replaces the class's: it is the newest of any of it. A job waits in one class at a time. */
  add(turn: Turn, shape: string, answer: Answer): void {
    if (this.shapeOf(turn.jobId) !== shape) this.remove(turn.jobId);
    const known = this.classes.get(shape) ?? emptyClass(shape);
    this.classes.set(shape, known);
    this.waitFor(known, answer);
    this.classOf.set(turn.jobId, known);
    const before = known.members.get(turn.jobId);
    if (before && !isBefore(before, turn) && !isBefore(turn, before)) return;
    known.members.set(turn.jobId, turn);
    known.turns.push(turn);
    compact(known);
  }

  remove(jobId: string): void {
    const known = this.classOf.get(jobId);
    if (!known) return;
    this.classOf.delete(jobId);
    known.members.delete(jobId);
    if (known.members.size > 0) return;
    this.classes.delete(known.shape);
    this.waitFor(known, NOTHING);
  }

  /** The first job of each class that this kind of event could help. */
  wokenBy(eventType: string): Head[] {
    return headsOf(this.waitingFor.get(eventType) ?? []);
  }

  /** The first job of a class, for the look after one of it was placed. */
  head(shape: string): Turn | undefined {
    const known = this.classes.get(shape);
    return known && headOf(known);
  }

  /** The first job of every class: for the safety sweep. */
  heads(): Head[] {
    return headsOf(this.classes.values());
  }

  private waitFor(known: ShapeClass, answer: Answer): void {
    const { wakesOn: before } = known.answer;
    const { wakesOn } = answer;
    known.answer = answer;
    if (sameTypes(before, wakesOn)) return;
    for (const type of before) {
      const waiting = this.waitingFor.get(type);
      waiting?.delete(known);
      if (waiting?.size === 0) this.waitingFor.delete(type);
    }
    for (const type of wakesOn) {
      const waiting = this.waitingFor.get(type) ?? new Set<ShapeClass>();
      this.waitingFor.set(type, waiting.add(known));
    }
  }
}

const NOTHING: Answer = { wakesOn: [], reasons: new Set(), wakesAt: undefined };

const emptyClass = (shape: string): ShapeClass => ({
  shape,
  turns: new Heap(isBefore),
  members: new Map(),
  answer: NOTHING,
});

const sameTypes = (left: readonly string[], right: readonly string[]): boolean =>
  left.length === right.length && left.every((type, index) => type === right[index]);

const headsOf = (classes: Iterable<ShapeClass>): Head[] => {
  const heads: Head[] = [];
  for (const known of classes) {
    const turn = headOf(known);
    if (turn) heads.push({ turn, answer: known.answer });
  }
  return heads;
};

/** Heaps do not delete from the middle: who left, or has another turn now, is skipped when it comes up. */
const headOf = ({ turns, members }: ShapeClass): Turn | undefined => {
  for (let turn = turns.peek(); turn; turn = turns.peek()) {
    if (members.get(turn.jobId) === turn) return turn;
    turns.pop();
  }
  return undefined;
};

/** Each member pays for one turn at most when it is made anew, so a change costs the same however many wait. */
const compact = (known: ShapeClass): void => {
  if (known.turns.size <= 2 * known.members.size + MOST_STALE) return;
  known.turns = new Heap(isBefore);
  for (const turn of known.members.values()) known.turns.push(turn);
};
