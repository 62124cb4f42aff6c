import type { Millis, Timers } from '#kernel';

/** A bounded number of places, given in the order asked: back-pressure instead of a flood. */
export class Slots {
  private free: number;
  private readonly queue = new Set<() => void>();

  constructor(
    size: number,
    private readonly timers: Timers,
  ) {
    this.free = size;
  }

  /** True when a place was had within `limit` milliseconds; it must then be given back. */
  async take(limit: Millis): Promise<boolean> {
    if (this.free > 0) {
      this.free -= 1;
      return true;
    }
    return new Promise((resolve) => {
      const given = (): void => {
        timer.cancel();
        resolve(true);
      };
      const timer = this.timers.after(limit, () => {
        this.queue.delete(given);
        resolve(false);
      });
      this.queue.add(given);
    });
  }

  giveBack(): void {
    const [next] = this.queue;
    if (!next) {
      this.free += 1;
      return;
    }
    this.queue.delete(next);
    next();
  }
}
