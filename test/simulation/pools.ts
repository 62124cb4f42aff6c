import type { Millis } from '#kernel';
import type { Discipline, Pool } from '#nodes';
import type { Chance } from './chance.js';

/** Some seeds have pools. */
export const withPools = (seed: number): boolean => seed % 3 === 0;

const DISCIPLINES: readonly Discipline[] = ['fifo', 'backfill', 'backfill', 'priority'];

/** When a machine comes into which pool, from the beginning on. */
export const poolsOf = (
  chance: Chance,
  storm: Millis,
): readonly { readonly at: Millis; readonly pool: Pool | null }[] =>
  Array.from({ length: chance.int(1, 4) }, (_, index) => ({
    at: index === 0 ? chance.int(0, 60_000) : chance.int(0, storm),
    pool: chance.happens(0.2)
      ? null
      : { name: chance.pick(['lab', 'lab', 'edge']), discipline: chance.pick(DISCIPLINES) },
  }));
