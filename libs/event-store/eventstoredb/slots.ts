import type { Millis, Timer, Timers } from '#kernel';

/** A bounded number of places, given in the order asked: back-pressure instead of a flood. */
export class Slots {
  private free: number;
  private readonly queue = new Set<() => void>();
  /** Counts what was done, so that a wait can tell a long queue from one that stands still. */
  private done = 0;

  constructor(
    size: number,
    private readonly timers: Timers,
  ) {
    this.free = size;
  }

  /** True when a place was had; false when for `limit` milliseconds nothing was done. It must then be given back. */
  async take(limit: Millis): Promise<boolean> {
    if (this.free > 0) {
      this.free -= 1;
      return true;
    }
    return new Promise((resolve) => {
      let timer: Timer;
      const given = (): void => {
        timer.cancel();
        resolve(true);
      };
      const arm = (): void => {
        const before = this.done;
        timer = this.timers.after(limit, () => {
          if (this.done > before) return arm();
          this.queue.delete(given);
          resolve(false);
        });
      };
      arm();
      this.queue.add(given);
    });
  }

  /** `done`: what the place was for came to an end, rather than being given up. */
  giveBack(done: boolean): void {
    if (done) this.done += 1;
    const [next] = this.queue;
    if (!next) {
      this.free += 1;
      return;
    }
    this.queue.delete(next);
    next();
  }
}
