import type { Random, Timers } from '#kernel';

/** Resolves after `delay` milliseconds, or at once when `signal` aborts; never rejects. */
export const wait = (timers: Timers, delay: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = (): void => {
      timer.cancel();
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = timers.after(delay, done);
    signal?.addEventListener('abort', done, { once: true });
  });

/** Exponential delays from 250 ms to `longest`, each shortened by up to half so that many agents do not return at once. */
export const backoff = (failures: number, random: Random, longest = 10_000): number =>
  Math.min(longest, 250 * 2 ** Math.min(failures, 16)) * (1 - random.next() / 2);

/** Resolves with the promise's value, or with `undefined` when `limit` milliseconds pass first. */
export const within = async <T>(timers: Timers, limit: number, promise: Promise<T>): Promise<T | undefined> => {
  const settled = new AbortController();
  try {
    return await Promise.race([promise, wait(timers, limit, settled.signal).then(() => undefined)]);
  } finally {
    settled.abort();
  }
};

/** Resolves when the signal aborts. */
export const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });

/** What comes of a promise, or `undefined` as soon as the signal aborts: then nobody hears what comes of it. */
export const unlessAborted = <T>(promise: Promise<T>, signal: AbortSignal): Promise<T | undefined> =>
  new Promise((resolve, reject) => {
    const letBe = (): void => resolve(undefined);
    if (signal.aborted) letBe();
    signal.addEventListener('abort', letBe, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', letBe));
  });
