import type { Factor } from '#jobs';

/** The five factors in the order in which they are computed, stored and told. */
export const FACTORS: readonly Factor[] = ['resources', 'reliability', 'availability', 'queue', 'cost'];
