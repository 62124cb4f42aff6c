import { describe, expect, it } from '@jest/globals';
import { rangeOf } from './byte-range.js';

describe('a range of bytes', () => {
  it.each([
    ['bytes=0-', { start: 0, end: 9 }],
    ['bytes=4-', { start: 4, end: 9 }],
    ['bytes=2-5', { start: 2, end: 5 }],
    ['bytes=2-99', { start: 2, end: 9 }],
    ['bytes=-3', { start: 7, end: 9 }],
    ['bytes=-99', { start: 0, end: 9 }],
    ['bytes=10-', 'outside'],
    ['bytes=-0', 'outside'],
    ['bytes=5-2', 'whole'],
    ['bytes=-', 'whole'],
    ['bytes=0-1,3-4', 'whole'],
    ['items=0-1', 'whole'],
    ['rubbish', 'whole'],
    [undefined, 'whole'],
  ])('%s of ten bytes', (header, expected) => {
    expect(rangeOf(header, 10)).toEqual(expected);
  });

  it('an empty file has no range to send', () => {
    expect(rangeOf('bytes=0-', 0)).toBe('outside');
    expect(rangeOf('bytes=-5', 0)).toBe('outside');
  });
});
