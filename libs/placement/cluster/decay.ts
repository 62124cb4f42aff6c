import type { Millis } from '#kernel';

/** A week-old experience counts half as much as a fresh one. */
export const HALF_LIFE: Millis = 7 * 86_400_000;

/**
 * What is left of 1 after a time: exactly ½ for each half-life, a straight line in between. Only additions and
 * multiplications, so that every machine gets the same bits and recorded decisions derive again for ever.
 */
export const decay = (elapsed: Millis, halfLife: Millis = HALF_LIFE): number => {
  if (!(elapsed > 0)) return 1;
  const halves = Math.min(elapsed / halfLife, 60);
  const whole = Math.floor(halves);
  let left = 1 - (halves - whole) / 2;
  for (let count = 0; count < whole; count += 1) left *= 0.5;
  return left;
};
