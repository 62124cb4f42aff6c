import { constants } from 'node:os';

/** The signal that an exit status stands for, if any. */
export const signalName = (code: number): string | undefined =>
  Object.entries(constants.signals).find(([, number]) => number === code - 128)?.[0];
