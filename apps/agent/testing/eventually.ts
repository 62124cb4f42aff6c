import { systemClock, systemTimers } from '#kernel';
import { wait } from '../client/wait.js';

/** Something hangs: no machine is so slow. */
const HANGS = 200_000;

/** Looks every 20 ms until `condition` holds, and says what did not when it hangs. For what happens in other processes. */
export const eventually = async (condition: () => boolean, what: string): Promise<void> => {
  const deadline = systemClock.now() + HANGS;
  while (!condition()) {
    if (systemClock.now() > deadline) throw new Error(`never happened: ${what}`);
    await wait(systemTimers, 20);
  }
};
