import { describe, expect, it } from '@jest/globals';
import { CROWDED, EXPECTED, LONGEST, runSeeds, seedsFrom, SPARSE } from './seeds.js';
import { simulate } from './simulate.js';

/* Small histories, many of them; the large ones are in files of their own. Half a minute on one core. */

const SEEDS = 200;
const PER_CASE = 20;

describe('the whole control plane under faults, in virtual time', () => {
  it.each(seedsFrom(0, SEEDS / PER_CASE).map((block) => block * PER_CASE + 1))(
    'A-17 A-46 A-80 A-86 B-63 P-02 S-10 holds its invariants from seed %i on, whatever goes wrong',
    async (first) => {
      const sizeOf = (seed: number) => (seed % 2 === 1 ? CROWDED : SPARSE);
      const { failed, seen } = await runSeeds(seedsFrom(first, PER_CASE), sizeOf);
      expect(failed).toEqual([]);
      expect(seen).toEqual(expect.arrayContaining([...EXPECTED]));
    },
    LONGEST,
  );

  it('the same seed gives the same log, event for event', async () => {
    const [first, second, other] = await Promise.all([7, 7, 9].map((seed) => simulate(seed, CROWDED)));
    expect(second?.digest).toBe(first?.digest);
    expect(other?.digest).not.toBe(first?.digest);
    expect(first?.events).toBeGreaterThan(500);
  });
});
