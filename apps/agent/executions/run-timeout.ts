import type { Millis, Timer, Timers } from '#kernel';

const LONGEST_TIMER = 2 ** 31 - 1;

/** Rings once when a run used up its time. It can be stopped while the run is paused and set again after. */
export class RunTimeout {
  private timer: Timer | undefined;

  constructor(
    private readonly timers: Timers,
    /** Milliseconds of running that are left; undefined is no limit. */
    private readonly remaining: () => Millis | undefined,
    private readonly ring: () => void,
  ) {}

  set(): void {
    this.clear();
    const left = this.remaining();
    if (left === undefined) return;
    if (left <= 0) return this.ring();
    this.timer = this.timers.after(Math.min(left, LONGEST_TIMER), () => this.set());
  }

  clear(): void {
    this.timer?.cancel();
    this.timer = undefined;
  }
}
