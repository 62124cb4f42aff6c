import type { Clock, Millis, Timer, Timers } from './ports.js';

interface Entry {
  due: Millis;
  readonly order: number;
  readonly interval: Millis | undefined;
  readonly run: () => void;
}

/**
 * A clock that stands still until it is told to move, and the timers that go with it. Timers fire in the order of
 * their due time, ties in the order they were set, and see `now()` at their own due time.
 */
export class FakeTime implements Clock, Timers {
  private entries: Entry[] = [];
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
    for (let entry = this.first(); entry && entry.due <= target; entry = this.first()) this.fire(entry);
    this.time = target;
  }

  /** As `advance`, but after each firing lets promises settle, so that what a timer started can set new timers. */
  async advanceAsync(span: Millis): Promise<void> {
    const target = this.time + span;
    await settle();
    for (let entry = this.first(); entry && entry.due <= target; entry = this.first()) {
      this.fire(entry);
      await settle();
    }
    this.time = target;
    await settle();
  }

  private add(delay: Millis, interval: Millis | undefined, run: () => void): Timer {
    const entry: Entry = { due: this.time + Math.max(0, delay), order: this.orders++, interval, run };
    this.entries.push(entry);
    return { cancel: () => void (this.entries = this.entries.filter((other) => other !== entry)) };
  }

  private first(): Entry | undefined {
    return this.entries.reduce<Entry | undefined>(
      (best, entry) =>
        !best || entry.due < best.due || (entry.due === best.due && entry.order < best.order) ? entry : best,
      undefined,
    );
  }

  private fire(entry: Entry): void {
    this.time = Math.max(this.time, entry.due);
    if (entry.interval === undefined) this.entries = this.entries.filter((other) => other !== entry);
    else entry.due += entry.interval;
    entry.run();
  }
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
