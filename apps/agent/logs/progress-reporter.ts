import type { Clock, Millis, Timer, Timers } from '#kernel';
import type { ProgressTick } from './progress-lines.js';

const PAUSE = 1_000;

/** Passes on at most one tick a second, always the newest, and never loses the last. */
export class ProgressReporter {
  private waiting: ProgressTick | undefined;
  private last: ProgressTick | undefined;
  private sentAt: Millis = Number.NEGATIVE_INFINITY;
  private timer: Timer | undefined;

  constructor(
    private readonly clock: Clock,
    private readonly timers: Timers,
    private readonly send: (tick: ProgressTick) => void,
  ) {}

  offer(tick: ProgressTick): void {
    if (tick.fraction === this.last?.fraction && tick.message === this.last.message) return;
    this.waiting = tick;
    const due = this.sentAt + PAUSE - this.clock.now();
    if (due <= 0) this.flush();
    else this.timer ??= this.timers.after(due, () => this.flush());
  }

  /** Sends what waits now: at the end of a run, before its result. */
  flush(): void {
    this.timer?.cancel();
    this.timer = undefined;
    if (!this.waiting) return;
    this.last = this.waiting;
    this.waiting = undefined;
    this.sentAt = this.clock.now();
    this.send(this.last);
  }
}
