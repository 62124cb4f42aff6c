import type { Clock, Millis, Timer, Timers } from '#kernel';

const LONGEST: Millis = 2 ** 31 - 1;

/**
 * One deadline for each key. A timer may ring before its deadline (it is days away, or the deadline was only a guess), so
 * whoever is rung looks at what is due and sets the next.
 */
export class Deadlines {
  private readonly set = new Map<string, { readonly timer: Timer; readonly due: Millis }>();

  constructor(
    private readonly clock: Clock,
    private readonly timers: Timers,
    private readonly ring: (key: string) => void,
  ) {}

  /** Rings at `due`, or before when that is set already. */
  by(key: string, due: Millis): void {
    if ((this.set.get(key)?.due ?? Infinity) <= due) return;
    this.drop(key);
    const span = Math.min(LONGEST, Math.max(0, due - this.clock.now()));
    const timer = this.timers.after(span, () => {
      this.set.delete(key);
      this.ring(key);
    });
    this.set.set(key, { timer, due });
  }

  drop(key: string): void {
    this.set.get(key)?.timer.cancel();
    this.set.delete(key);
  }

  dropAll(): void {
    for (const { timer } of this.set.values()) timer.cancel();
    this.set.clear();
  }
}
