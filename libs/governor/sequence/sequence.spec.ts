import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { askedNext, beginSequence, halved, isDone, itemsDone, nextRange, rangeDone } from './sequence.js';
import type { ItemRange, Sequence } from './sequence.js';

const begin = (items: number, size: number, min: number): Sequence =>
  beginSequence({ from: 0, to: items }, { size, min });

describe('G-57 a sequence of batches', () => {
  it('takes what is granted, from where the last batch ended', () => {
    const first = nextRange(begin(20, 8, 2), 8);
    expect(first).toEqual({ from: 0, to: 8 });
    const after = rangeDone(begin(20, 8, 2), first!);
    expect(nextRange(after, 3)).toEqual({ from: 8, to: 11 });
    expect([itemsDone(after), after.batches, isDone(after)]).toEqual([8, 1, false]);
  });

  it('never takes more than its size, fewer than its minimum only at the end, and nothing after that', () => {
    expect(nextRange(begin(20, 8, 2), 100)).toEqual({ from: 0, to: 8 });
    expect(nextRange(begin(20, 8, 2), 0)).toEqual({ from: 0, to: 2 });
    const almost = rangeDone(begin(9, 8, 4), { from: 0, to: 8 });
    expect([nextRange(almost, 8), askedNext(almost)]).toEqual([
      { from: 8, to: 9 },
      { size: 1, min: 1 },
    ]);
    expect(nextRange(rangeDone(almost, { from: 8, to: 9 }), 8)).toBeUndefined();
  });

  it('G-25 halves what ran out of memory, for good, down to its minimum', () => {
    const once = halved(begin(100, 16, 3), { from: 0, to: 16 });
    expect(nextRange(once!, 16)).toEqual({ from: 0, to: 8 });
    const twice = halved(once!, { from: 0, to: 8 });
    const thrice = halved(twice!, { from: 0, to: 4 });
    expect([twice?.most, thrice?.most]).toEqual([4, 3]);
    expect(halved(thrice!, { from: 0, to: 3 })).toBeUndefined();
    expect(nextRange(rangeDone(twice!, { from: 0, to: 4 }), 16)).toEqual({ from: 4, to: 8 });
  });

  it('does not let a range be done that is not the next', () => {
    const sequence = rangeDone(begin(20, 8, 1), { from: 0, to: 8 });
    for (const range of [
      { from: 0, to: 8 },
      { from: 9, to: 10 },
      { from: 8, to: 8 },
      { from: 8, to: 21 },
    ])
      expect(() => rangeDone(sequence, range)).toThrow('not what comes next');
  });

  const plan = fc
    .record({
      from: fc.nat({ max: 1000 }),
      count: fc.integer({ min: 1, max: 300 }),
      size: fc.integer({ min: 1, max: 64 }),
      least: fc.integer({ min: 1, max: 64 }),
      /** For each batch: what the governor grants, and whether it runs out of memory. */
      course: fc.array(fc.record({ granted: fc.integer({ min: -5, max: 100 }), fails: fc.boolean() }), {
        maxLength: 80,
      }),
    })
    .map((one) => ({ ...one, min: Math.min(one.least, one.size) }));

  it('does every item exactly once, within the bounds, and comes to an end, whatever is granted and fails', () => {
    fc.assert(
      fc.property(plan, ({ from, count, size, min, course }) => {
        const end = from + count;
        let sequence = beginSequence({ from, to: end }, { size, min });
        const done: ItemRange[] = [];
        let tries = 0;
        for (let range = nextRange(sequence, course[0]?.granted ?? size); range; tries += 1) {
          const left = end - sequence.next;
          const taken = range.to - range.from;
          expect(range.from).toBe(sequence.next);
          expect(taken).toBeGreaterThanOrEqual(Math.min(min, left));
          expect(taken).toBeLessThanOrEqual(Math.min(sequence.most, size, left));
          const smaller = course[tries]?.fails === true ? halved(sequence, range) : undefined;
          if (!smaller) done.push(range);
          sequence = smaller ?? rangeDone(sequence, range);
          range = nextRange(sequence, course[tries + 1]?.granted ?? size);
        }
        const items = done.flatMap((range) =>
          Array.from({ length: range.to - range.from }, (_, at) => range.from + at),
        );
        expect(items).toEqual(Array.from({ length: count }, (_, index) => from + index));
        expect([isDone(sequence), itemsDone(sequence), sequence.batches]).toEqual([true, count, done.length]);
        expect(tries - done.length).toBeLessThanOrEqual(Math.ceil(Math.log2(size)) + 1);
      }),
      { numRuns: 500 },
    );
  });
});
