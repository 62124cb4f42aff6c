import type { Factor } from '#jobs';

/** The five factors in the order in which they are computed, stored and told. */
export const FACTORS: readonly Factor[] = ['resources', 'reliability', 'availability', 'queue', 'cost'];

/** A raw measure and its value in 0…1, before preferences lift it. */
export interface Measure {
  readonly raw: number;
  readonly value: number;
}
