import { uuidv7 } from 'uuidv7';
import type { Clock, Ids, Millis, Random, Timers } from './ports.js';

/* The one place that may call the real clock, timers and random source: all else takes the ports. */

export const systemClock: Clock = { now: () => Date.now() };

export const systemTimers: Timers = {
  after: (delay, run) => {
    const handle = setTimeout(run, delay);
    return { cancel: () => clearTimeout(handle) };
  },
  every: (interval, run) => {
    const handle = setInterval(run, interval);
    return { cancel: () => clearInterval(handle) };
  },
};

export const systemIds: Ids = { next: () => uuidv7() };

export const systemRandom: Random = { next: () => Math.random() };

/** Measures a span from now on, finer than a clock tells and untouched when that is set. */
export const systemStopwatch = (): (() => Millis) => {
  const begun = performance.now();
  return () => performance.now() - begun;
};
