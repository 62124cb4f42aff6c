import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { byText, hash32 } from './order.js';

describe('byText', () => {
  it('orders by code units, whatever the locale', () => {
    expect(['ä', 'b', 'a', 'B', 'a1', 'a'].sort(byText)).toEqual(['B', 'a', 'a', 'a1', 'b', 'ä']);
    fc.assert(
      fc.property(fc.string(), fc.string(), (left, right) => {
        expect(byText(left, right) + byText(right, left)).toBe(0);
        expect(byText(left, right) === 0).toBe(left === right);
      }),
    );
  });
});

describe('hash32', () => {
  // Published FNV-1a values.
  it.each([
    ['', 0x811c9dc5],
    ['a', 0xe40c292c],
    ['foobar', 0xbf9cf968],
  ])('hashes %j as the algorithm says', (text, hash) => {
    expect(hash32(text)).toBe(hash);
  });
});
