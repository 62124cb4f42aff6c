import { systemClock, systemTimers } from '#kernel';
import { wait } from '../client/wait.js';

/** Looks every 20 ms until `condition` holds; fails after half a minute. For what happens in other processes. */
export const eventually = async (condition: () => boolean, what: string): Promise<void> => {
  const deadline = systemClock.now() + 30_000;
  while (!condition()) {
    if (systemClock.now() > deadline) throw new Error(`never happened: ${what}`);
    await wait(systemTimers, 20);
  }
};
