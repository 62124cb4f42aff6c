import type { Millis } from './ports.js';

/**
 * A moment as RFC 3339 in UTC with exactly three decimals: `2026-11-29T20:11:05.123Z`. The form is fixed, so two
 * instants compare as text. Events carry instants, so that a reader of the raw log needs no conversion.
 */
export type Instant = string;

export const toInstant = (millis: Millis): Instant => new Date(millis).toISOString();

/** The reverse of `toInstant`; NaN for text that is no date. */
export const toMillis = (instant: Instant): Millis => Date.parse(instant);

/** The instant `seconds` later (or earlier, when negative). */
export const plusSeconds = (instant: Instant, seconds: number): Instant =>
  toInstant(toMillis(instant) + Math.round(seconds * 1000));
