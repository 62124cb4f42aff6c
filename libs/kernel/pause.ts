import type { Millis, Timers } from './ports.js';

/** Resolves after a time, or at once when the signal is aborted. */
export const pause = (timers: Timers, delay: Millis, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal?.aborted) {
      resolve();
      return;
    }
    const end = (): void => {
      timer.cancel();
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = timers.after(delay, end);
    signal?.addEventListener('abort', end, { once: true });
  });
