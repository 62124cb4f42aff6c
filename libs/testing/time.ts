import { plusSeconds } from '#kernel';
import type { Instant } from '#kernel';

/** When every built history begins. */
export const EPOCH: Instant = '2026-01-01T00:00:00.000Z';

/** The instant `count` seconds after `EPOCH`. */
export const second = (count: number): Instant => plusSeconds(EPOCH, count);
