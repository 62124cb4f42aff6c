import { Heap } from './heap.js';
import type { Clock, Millis, Timer, Timers } from './ports.js';

interface Entry {
  due: Millis;
  readonly order: number;
  readonly interval: Millis | undefined;
  readonly run: () => void;
  cancelled: boolean;
}

/**
 * A clock that stands still until it is told to move, and the timers that go with it. Timers fire in the order of
 * their due time, ties in the order they were set, and see `now()` at their own due time.
 */
export class FakeTime implements Clock, Timers {
  private readonly entries = new Heap<Entry>((left, right) =>
    left.due === right.due ? left.order < right.order : left.due < right.due,
  );
  private orders = 0;

  constructor(private time: Millis = 0) {}

  now(): Millis {
    return this.time;
  }

  after(delay: Millis, run: () => void): Timer {
    return this.add(delay, undefined, run);
  }

  every(interval: Millis, run: () => void): Timer {
    return this.add(interval, interval, run);
  }

  /** The due time of the next timer, or undefined when none is set. */
  nextDue(): Millis | undefined {
    return this.first()?.due;
  }

  /** Moves time forward by `span` milliseconds and fires what falls due on the way. */
  advance(span: Millis): void {
    const target = this.time + span;
    while (this.fireBefore(target)) continue;
    this.time = target;
  }

  /** As `advance`, but after each firing lets promises settle, so that what a timer started can set new timers. */
  async advanceAsync(span: Millis): Promise<void> {
    const target = this.time + span;
    await settle();
    while (this.fireBefore(target)) await settle();
    this.time = target;
    await settle();
  }

  private add(delay: Millis, interval: Millis | undefined, run: () => void): Timer {
    const due = this.time + Math.max(0, delay);
    const entry: Entry = { due, order: this.orders++, interval, run, cancelled: false };
    this.entries.push(entry);
    return { cancel: () => void (entry.cancelled = true) };
  }

  /** A heap does not delete from the middle: what was cancelled goes when it comes up. */
  private first(): Entry | undefined {
    let entry = this.entries.peek();
    while (entry?.cancelled) {
      this.entries.pop();
      entry = this.entries.peek();
    }
    return entry;
  }

  private fireBefore(target: Millis): boolean {
    const entry = this.first();
    if (!entry || entry.due > target) return false;
    this.entries.pop();
    this.time = Math.max(this.time, entry.due);
    if (entry.interval !== undefined) {
      entry.due += entry.interval;
      this.entries.push(entry);
    }
    entry.run();
    return true;
  }
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
