import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { accept, fold, reject } from './decider.js';
import { unreachable } from './exhaustive.js';

const sum = { initialState: () => 0, evolve: (state: number, event: number) => state * 2 + event };

describe('fold', () => {
  it('goes on from a state already reached', () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 9 }), { maxLength: 20 }), fc.nat({ max: 20 }), (events, at) => {
        const reached = fold(sum, events.slice(0, at));
        expect(fold(sum, events.slice(at), reached)).toBe(fold(sum, events));
      }),
    );
    expect(fold(sum, [])).toBe(0);
  });
});

describe('decisions', () => {
  it('are events, possibly none, or a refusal', () => {
    expect(accept()).toEqual({ kind: 'accepted', events: [] });
    expect(accept(1, 2)).toEqual({ kind: 'accepted', events: [1, 2] });
    expect(reject('TOO_LATE', 'it is over')).toEqual({
      kind: 'rejected',
      rejection: { code: 'TOO_LATE', message: 'it is over' },
    });
    expect(reject('TOO_LATE', 'it is over', { by: 3 })).toMatchObject({ rejection: { details: { by: 3 } } });
  });
});

describe('unreachable', () => {
  it('names the stranger', () => {
    expect(() => unreachable('odd' as never)).toThrow('"odd"');
  });
});
