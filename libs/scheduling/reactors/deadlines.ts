import type { Clock, Millis, Timers } from '#kernel';
import { Alarms } from '../alarms.js';

/**
 * One deadline for each key. An alarm may ring before its deadline (it is days away, or the deadline was only a guess), so
 * whoever is rung looks at what is due and sets the next.
 */
export class Deadlines {
  private readonly dues = new Map<string, Millis>();
  private readonly alarms: Alarms;

  constructor(
    private readonly clock: Clock,
    timers: Timers,
    private readonly ring: (key: string) => void,
  ) {
    this.alarms = new Alarms(clock, timers);
  }

  /** Rings at `due`, or before when that is set already. */
  by(key: string, due: Millis): void {
    if ((this.dues.get(key) ?? Infinity) <= due) return;
    this.dues.set(key, due);
    this.alarms.after(key, due - this.clock.now(), () => {
      this.dues.delete(key);
      this.ring(key);
    });
  }

  drop(key: string): void {
    this.dues.delete(key);
    this.alarms.stop(key);
  }

  dropAll(): void {
    this.dues.clear();
    this.alarms.stopAll();
  }
}
