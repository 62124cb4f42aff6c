import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { itemsOfPartition } from './job-spec.js';

describe('G-57 S-02 the items of a partition', () => {
  it('are every item once over all partitions, in order, none of them without any, as even as can be', () => {
    const plan = fc
      .record({ count: fc.integer({ min: 1, max: 10_000 }), more: fc.nat({ max: 1e9 - 10_000 }) })
      .map(({ count, more }) => ({ count, items: count + more }));
    fc.assert(
      fc.property(plan, ({ count, items }) => {
        const parts = Array.from({ length: count }, (_, partition) => itemsOfPartition(items, partition, count));
        expect([parts[0]?.from, parts.at(-1)?.to]).toEqual([0, items]);
        const gaps = parts.slice(1).filter(({ from }, index) => from !== parts[index]?.to);
        expect(gaps).toEqual([]);
        const sizes = parts.map(({ from, to }) => to - from);
        expect(Math.min(...sizes)).toBe(Math.floor(items / count));
        expect(Math.max(...sizes)).toBe(Math.ceil(items / count));
      }),
      { numRuns: 50 },
    );
  });
});
