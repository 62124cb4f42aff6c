import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { toInstant } from '#kernel';
import type { Maintenance } from '#nodes';
import { maintenanceAt, maintenanceState } from './maintenance.js';

const one = ([from, length]: readonly [number, number]): Maintenance => ({
  from: toInstant(from),
  until: toInstant(from + length),
  reason: `from ${from}`,
});

const lists = fc.array(fc.tuple(fc.nat({ max: 40 }), fc.integer({ min: 1, max: 20 })), { maxLength: 6 });

describe('maintenance', () => {
  it('A-26 goes on while any of them does, and those that touch are one', () => {
    fc.assert(
      fc.property(lists, fc.nat({ max: 70 }), (times, at) => {
        const list = times.map(one);
        const covers = (moment: number): boolean =>
          times.some(([from, length]) => from <= moment && moment < from + length);
        const { endsAt, next } = maintenanceState(list, at);
        let end = at;
        while (covers(end)) end += 1;
        expect(endsAt).toBe(covers(at) ? end : undefined);
        expect(maintenanceAt(list, at) !== undefined).toBe(covers(at));
        const later = times.map(([from]) => from).filter((from) => from > end || (from > at && !covers(at)));
        expect(next?.from).toBe(later.length > 0 ? Math.min(...later) : undefined);
      }),
    );
  });
});
