import type { Clock } from '#kernel';
import type { StatedReasons } from '#placement';
import type { Aging, Place } from '../broker/aging.js';
import { PriorityLines } from '../broker/priority-lines.js';

interface ShapeClass {
  readonly shape: string;
  readonly turns: PriorityLines<Place>;
  answer: Answer;
}

interface Member {
  readonly of: ShapeClass;
  readonly turn: Place;
}

/** What a class waits for, and why. */
export interface Answer extends StatedReasons {
  /** Types of events. */
  readonly wakesOn: readonly string[];
}

export interface Head {
  readonly jobId: string;
  readonly answer: Answer;
}

/**
 * Jobs that were looked at and could not be placed, grouped by shape: jobs of one shape get the same answer, so an event
 * that may help is answered by a look at the first of each class, and at the next one only when that one was placed or
 * left the class. What an event costs grows with the classes that wait for its kind, not with the jobs in them. Who waits
 * gains priority in a class as in the broker. A place's ID is the job's.
 */
export class WaitingJobs {
  private readonly classes = new Map<string, ShapeClass>();
  private readonly members = new Map<string, Member>();
  /** By kind of event. */
  private readonly waitingFor = new Map<string, Set<ShapeClass>>();

  constructor(
    private readonly clock: Clock,
    private readonly aging: Aging,
  ) {}

  get size(): number {
    return this.members.size;
  }

  /** Every job that waits. */
  all(): readonly string[] {
    return [...this.members.keys()];
  }

  has(jobId: string): boolean {
    return this.members.has(jobId);
  }

  /** The class that the job waits in. */
  shapeOf(jobId: string): string | undefined {
    return this.members.get(jobId)?.of.shape;
  }

  /** The answer replaces the class's: it is the newest of any of it. A job waits in one class at a time. */
  add(turn: Place, shape: string, answer: Answer): void {
    const before = this.members.get(turn.id);
    if (before && before.of.shape !== shape) this.remove(turn.id);
    const known = this.classes.get(shape) ?? { shape, turns: new PriorityLines<Place>(this.aging), answer: NOTHING };
    this.classes.set(shape, known);
    this.waitFor(known, answer);
    if (before?.of === known && isSame(before.turn, turn)) return;
    if (before?.of === known) known.turns.delete(before.turn);
    this.members.set(turn.id, { of: known, turn });
    known.turns.add(turn);
  }

  remove(jobId: string): void {
    const member = this.members.get(jobId);
    if (!member) return;
    const { of: known, turn } = member;
    this.members.delete(jobId);
    known.turns.delete(turn);
    if (!known.turns.isEmpty) return;
    this.classes.delete(known.shape);
    this.waitFor(known, NOTHING);
  }

  /** The first job of each class that this kind of event could help. */
  wokenBy(eventType: string): Head[] {
    return this.headsOf(this.waitingFor.get(eventType) ?? []);
  }

  /** The first job of a class, for the look after one of it was placed. */
  head(shape: string): string | undefined {
    return this.classes.get(shape)?.turns.head(this.clock.now())?.item.id;
  }

  /** What the class was told last. */
  answerOf(shape: string): Answer | undefined {
    return this.classes.get(shape)?.answer;
  }

  /** The first job of every class: for the safety sweep. */
  heads(): Head[] {
    return this.headsOf(this.classes.values());
  }

  private headsOf(classes: Iterable<ShapeClass>): Head[] {
    const now = this.clock.now();
    const heads: Head[] = [];
    for (const { turns, answer } of classes) {
      const head = turns.head(now);
      if (head) heads.push({ jobId: head.item.id, answer });
    }
    return heads;
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

const sameTypes = (left: readonly string[], right: readonly string[]): boolean =>
  left.length === right.length && left.every((type, index) => type === right[index]);

const isSame = (left: Place, right: Place): boolean =>
  left.priority === right.priority && left.createdAt === right.createdAt;
