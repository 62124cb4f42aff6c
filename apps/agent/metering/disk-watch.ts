import type { Clock, Timer, Timers } from '#kernel';
import { diskUsage } from './disk-usage.js';

/** Milliseconds between two looks at a folder that has a quota, and at one that has none. */
const CLOSE = 1_000;
const LOOSE = 10_000;
/** A look that took long is followed by a pause of so many times its length. */
const REST = 20;

/**
 * Looks again and again at how much disk a folder takes, from `start` to `stop`: each second when somebody holds it to a
 * quota, else each ten seconds, and less often where a look takes long. `look` looks once more.
 */
export class DiskWatch {
  private timer: Timer | undefined;
  private stopped = false;

  constructor(
    private readonly folder: string,
    private readonly saw: (bytes: number) => void,
    private readonly clock: Clock,
    private readonly timers: Timers,
  ) {}

  start(hasQuota: boolean): void {
    const shortest = hasQuota ? CLOSE : LOOSE;
    const next = async (): Promise<void> => {
      const begun = this.clock.now();
      await this.look();
      const pause = Math.max(shortest, REST * (this.clock.now() - begun));
      if (!this.stopped) this.timer = this.timers.after(pause, () => void next());
    };
    this.timer = this.timers.after(CLOSE, () => void next());
  }

  stop(): void {
    this.stopped = true;
    this.timer?.cancel();
  }

  async look(): Promise<void> {
    this.saw(await diskUsage(this.folder));
  }
}
