import type { Millis } from '#kernel';

/**
 * How finely scores know the time: what ages with it (records, presence, what is left of a window) is looked at as of the
 * beginning of the step, so that between two changes of a node its scores stay the same for as long as a step lasts. Ten
 * minutes are a thousandth of the half-life.
 */
const STEP: Millis = 600_000;

export const stepStart = (at: Millis): Millis => Math.floor(at / STEP) * STEP;

/** The end of the step that a moment lies in or ends. */
export const stepEnd = (at: Millis): Millis => Math.ceil(at / STEP) * STEP;
