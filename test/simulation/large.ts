import { describe, expect, it } from '@jest/globals';
import { EXPECTED, LARGE, LONGEST, runSeeds, seedsFrom } from './seeds.js';

const PER_FILE = 50;
const PER_CASE = 10;

/**
 * 500 jobs on 20 nodes under each of 50 seeds, about three seconds of one core each. There are four files of them, so that
 * all workers of the test runner have their part.
 */
export const describeLarge = (first: number): void => {
  describe('the whole control plane with 500 jobs on 20 nodes, in virtual time', () => {
    it.each(seedsFrom(0, PER_FILE / PER_CASE).map((block) => first + block * PER_CASE))(
      'A-17 A-20 A-22 A-46 A-80 A-86 B-63 P-02 holds its invariants from seed %i on',
      async (start) => {
        const { failed, seen } = await runSeeds(seedsFrom(start, PER_CASE), () => LARGE);
        expect(failed).toEqual([]);
        expect(seen).toEqual(expect.arrayContaining([...EXPECTED]));
      },
      LONGEST,
    );
  });
};
