import { toMillis } from '#kernel';
import type { Clock, Instant, Millis, Timer, Timers } from '#kernel';

const LONGEST: Millis = 2 ** 31 - 1;

/** One timer for each key; a new one takes the place of the one before it. */
export class Alarms {
  private readonly set = new Map<string, Timer>();

  constructor(
    private readonly clock: Clock,
    private readonly timers: Timers,
  ) {}

  get size(): number {
    return this.set.size;
  }

  after(key: string, span: Millis, run: () => void): void {
    this.stop(key);
    const timer = this.timers.after(Math.min(Math.max(0, span), LONGEST), () => {
      this.set.delete(key);
      run();
    });
    this.set.set(key, timer);
  }

  /** A moment that has passed already is now. */
  at(key: string, moment: Instant, run: () => void): void {
    this.after(key, toMillis(moment) - this.clock.now(), run);
  }

  stop(key: string): void {
    this.set.get(key)?.cancel();
    this.set.delete(key);
  }

  stopAll(): void {
    for (const timer of this.set.values()) timer.cancel();
    this.set.clear();
  }
}
