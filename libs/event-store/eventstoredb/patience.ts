import { EventStoreUnavailable } from '../port.js';
import type { Millis, Random, Timer, Timers } from '#kernel';

/** The first pause after a failure; it doubles with each further one up to the longest. */
const FIRST_PAUSE = 50;
const LONGEST_PAUSE = 1000;

/** A bound on waiting, measured by our own timers: the client's own notice of a stalled server takes 20 seconds. */
export class Patience {
  private over = false;
  private failures = 0;
  private timer: Timer | undefined;
  private wake: (() => void) | undefined;

  constructor(
    private readonly timers: Timers,
    private readonly random: Random,
    private readonly limit: Millis,
  ) {
    this.renew();
  }

  get exhausted(): boolean {
    return this.over;
  }

  /** There was progress: the whole limit is there again. */
  renew(): void {
    this.end();
    this.failures = 0;
    this.over = false;
    this.timer = this.timers.after(this.limit, () => {
      this.over = true;
      this.wake?.();
    });
  }

  /** Waits before the next try, longer after each failure and never at the same moment as everybody else. */
  async pause(): Promise<void> {
    const longest = Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** this.failures);
    this.failures += 1;
    await this.wait(
      new Promise<void>((resolve) => void this.timers.after(longest * (0.5 + this.random.next() / 2), resolve)),
    );
  }

  /** Resolves with the promise, or with undefined when patience ends first. */
  async wait<Value>(promise: Promise<Value>): Promise<Value | undefined> {
    if (this.over) return undefined;
    const ended = new Promise<undefined>((resolve) => (this.wake = () => resolve(undefined)));
    return Promise.race([promise, ended]);
  }

  end(): void {
    this.timer?.cancel();
  }
}

/** The other side kept silent for the whole of a limit: the connection may be dead without knowing it. */
export class Stalled extends EventStoreUnavailable {
  constructor(what: string, limit: Millis) {
    super(`no answer to ${what} within ${limit} ms`);
  }
}

/** As the promise, but rejects with `Stalled` when that takes longer than `limit`. */
export const within = async <Value>(
  timers: Timers,
  limit: Millis,
  what: string,
  promise: Promise<Value>,
): Promise<Value> => {
  let timer: Timer | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = timers.after(limit, () => reject(new Stalled(what, limit)));
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    timer?.cancel();
  }
};
