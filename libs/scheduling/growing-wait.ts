import type { Millis, Timers } from '#kernel';

const FIRST: Millis = 1_000;
const MOST: Millis = 30_000;

/** Waits between tries of what fails: 1 s, 2 s, 4 s … at most 30 s. */
export class GrowingWait {
  private endWait: () => void = () => undefined;

  constructor(private readonly timers: Timers) {}

  /** The wait after so many failures in a row, from 0 for the first. */
  after(failures: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.timers.after(Math.min(MOST, FIRST * 2 ** failures), resolve);
      this.endWait = () => {
        timer.cancel();
        resolve();
      };
    });
  }

  /** Ends the wait under way, if there is one. */
  end(): void {
    this.endWait();
  }
}
