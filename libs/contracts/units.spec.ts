import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { formatBytes, formatDuration, MAX_DURATION, parseBytes, parseDuration } from './units.js';

const value = (parsed: ReturnType<typeof parseBytes>): number | string => (parsed.ok ? parsed.value : parsed.message);

describe('sizes', () => {
  it.each([
    ['A-05 4GiB', '4GiB', 4294967296],
    ['512MiB', '512MiB', 536870912],
    ['scientific text', '1e9', 1e9],
    ['a number is bytes', 1e9, 1e9],
    ['decimal units', '1.5GB', 1.5e9],
    ['short binary units', '2Ki', 2048],
    ['a space before the unit', '4 GiB', 4294967296],
    ['any case', '4gib', 4294967296],
    ['plain bytes', '17 B', 17],
    ['rounded to whole bytes', '0.3KiB', 307],
    ['zero', '0', 0],
  ])('%s', (_name, input, bytes) => {
    expect(parseBytes(input)).toEqual({ ok: true, value: bytes });
  });

  it.each([
    ['no number', 'much', /no size/],
    ['empty', '', /no size/],
    ['unknown unit', '4 parsecs', /unknown unit parsecs/],
    ['an ambiguous unit is asked back', '4G', /4GiB .* or 4GB/],
    ['negative text', '-1GiB', /negative/],
    ['negative number', -1, /negative/],
    ['a broken number of bytes', 1.5, /whole/],
    ['not finite', Number.POSITIVE_INFINITY, /finite/],
    ['NaN', Number.NaN, /finite/],
    ['too large', '9000PB', /over/],
  ])('refuses %s', (_name, input, message) => {
    expect(value(parseBytes(input))).toEqual(expect.stringMatching(message));
  });

  it.each([
    [0, '0 B'],
    [999, '999 B'],
    [1000, '0.98 KiB'],
    [1536, '1.5 KiB'],
    [4294967296, '4 GiB'],
    [123 * 1024 * 1024, '123 MiB'],
  ])('shows %d as %s', (bytes, text) => {
    expect(formatBytes(bytes)).toBe(text);
  });

  it('what is shown reads back to within 0.6 %', () => {
    fc.assert(
      fc.property(fc.nat({ max: 1e15 }), (bytes) => {
        const back = Number(value(parseBytes(formatBytes(bytes))));
        expect(Math.abs(back - bytes)).toBeLessThanOrEqual(bytes * 0.006);
      }),
    );
  });
});

describe('durations', () => {
  it.each([
    ['A-08 30s', '30s', 30],
    ['hours', '2h', 7200],
    ['days', '1d', 86400],
    ['parts', '1h30m', 5400],
    ['spaced parts', '1h 30min', 5400],
    ['milliseconds', '500ms', 0.5],
    ['weeks', '2w', 1209600],
    ['a number is seconds', 15, 15],
    ['a text of digits is seconds', '90', 90],
    ['a fraction', '1.5h', 5400],
    ['zero', 0, 0],
  ])('%s', (_name, input, seconds) => {
    expect(parseDuration(input)).toEqual({ ok: true, value: seconds });
  });

  it.each([
    ['no number', 'soon', /no duration/],
    ['empty', '', /no duration/],
    ['a bare unit', 'h', /no duration/],
    ['a broken tail', '1h30', /no duration/],
    ['a unit of another kind', '3GiB', /no duration/],
    ['S-10 negative text', '-5s', /negative/],
    ['S-10 negative number', -5, /negative/],
    ['not finite', Number.NaN, /finite/],
    ['over a hundred years', '99999w', /hundred years/],
  ])('refuses %s', (_name, input, message) => {
    expect(value(parseDuration(input))).toEqual(expect.stringMatching(message));
  });

  it.each([
    [0, '0ms'],
    [0.25, '250ms'],
    [1.5, '1.5s'],
    [45, '45s'],
    [60, '1m'],
    [5400, '1h30m'],
    [3599.9, '1h'],
    [86_399, '1d'],
    [90_061, '1d1h'],
    [-30, '-30s'],
  ])('shows %d s as %s', (seconds, text) => {
    expect(formatDuration(seconds)).toBe(text);
  });

  it('what is shown reads back to within 5 %', () => {
    fc.assert(
      fc.property(fc.double({ min: 0.01, max: MAX_DURATION, noNaN: true }), (seconds) => {
        const back = Number(value(parseDuration(formatDuration(seconds))));
        expect(Math.abs(back - seconds)).toBeLessThanOrEqual(seconds * 0.05);
      }),
    );
  });
});
