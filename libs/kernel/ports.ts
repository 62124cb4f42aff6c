/** Milliseconds since 1970-01-01T00:00:00Z. Every instant inside the program has this form; RFC 3339 only at its edges. */
export type Millis = number;

/** Tells the time. The only source of "now" outside `system.ts`. */
export interface Clock {
  now(): Millis;
}

/** A timer that was set; `cancel` after it fired, or twice, does nothing. */
export interface Timer {
  cancel(): void;
}

/** Sets timers against the same time that `Clock` tells, so a fake clock moves both. */
export interface Timers {
  /** Calls `run` once when at least `delay` milliseconds (0…2³¹−1) have passed. */
  after(delay: Millis, run: () => void): Timer;
  /** Calls `run` every `interval` milliseconds (> 0) until cancelled. */
  every(interval: Millis, run: () => void): Timer;
}

/** Makes identifiers: UUID version 7, so that they sort by the time they were made. */
export interface Ids {
  next(): string;
}

/** Uniform pseudo-random numbers in [0, 1). */
export interface Random {
  next(): number;
}
