import type { Clock, Millis, Timers } from '#kernel';

/** The longest that reading the log keeps the process to itself. */
const TURN: Millis = 20;

/** To be asked at each event that is read: a pause in which other work has its turn when that is due, else nothing. */
export const inTurns = (clock: Clock, timers: Timers): (() => Promise<void> | undefined) => {
  let begun = clock.now();
  const pause = (resolve: () => void): void => {
    timers.after(0, () => {
      begun = clock.now();
      resolve();
    });
  };
  return () => (clock.now() - begun < TURN ? undefined : new Promise<void>(pause));
};
