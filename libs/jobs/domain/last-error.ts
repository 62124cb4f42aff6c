import type { Ending, Partition } from './state.js';

/** An end that is no run's doing, with what the last run that failed said: its user wants to know that first. */
export const withLastError = (ending: Ending, { lastError }: Pick<Partition, 'lastError'>): Ending =>
  lastError
    ? { ...ending, message: `${ending.message}; the last error of a run was ${lastError.class}: ${lastError.message}` }
    : ending;

/** Of the parts that are open, the first that failed before; one that never did when there is none. */
export const firstThatFailed = (partitions: readonly Partition[]): Pick<Partition, 'lastError'> =>
  partitions.find(({ state, lastError }) => lastError && (state === 'waiting' || state === 'live')) ?? {};
