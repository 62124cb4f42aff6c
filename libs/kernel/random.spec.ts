import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { countingIds, seededRandom } from './random.js';

const draw = (seed: number, count: number): number[] => {
  const random = seededRandom(seed);
  return Array.from({ length: count }, () => random.next());
};

describe('seededRandom', () => {
  it('gives the same numbers for the same seed, in [0, 1)', () => {
    fc.assert(
      fc.property(fc.integer(), (seed) => {
        const numbers = draw(seed, 50);
        expect(numbers).toEqual(draw(seed, 50));
        expect(numbers.every((number) => number >= 0 && number < 1)).toBe(true);
      }),
    );
    expect(draw(1, 3)).not.toEqual(draw(2, 3));
  });

  it('is about uniform', () => {
    const buckets = Array.from({ length: 10 }, () => 0);
    for (const number of draw(42, 100_000)) {
      const bucket = Math.floor(number * 10);
      buckets[bucket] = (buckets[bucket] ?? 0) + 1;
    }
    // Ten thousand each expected; five standard deviations (95 each) allowed.
    expect(buckets.every((count) => Math.abs(count - 10_000) < 475)).toBe(true);
  });
});

describe('countingIds', () => {
  it('counts in the shape of a UUID, apart by prefix', () => {
    const ids = countingIds(10);
    expect([ids.next(), ids.next()]).toEqual([
      '0000000a-0000-7000-8000-000000000001',
      '0000000a-0000-7000-8000-000000000002',
    ]);
    expect(countingIds(11).next()).not.toBe(countingIds(10).next());
  });
});
