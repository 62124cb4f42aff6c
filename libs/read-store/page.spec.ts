import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { InvalidCursor, InvalidFilter, pageLimit, pageOf, readCursor, readFilter, writeCursor } from './index.js';

describe('pages', () => {
  it('take a limit between 1 and 200, 50 without one or with nonsense', () => {
    expect([undefined, '10', 0, -1, 'x', 1.5, 200, '201'].map(pageLimit)).toEqual([50, 10, 50, 50, 50, 50, 200, 200]);
  });

  it('lead on as long as there is more', () => {
    expect(pageOf([1, 2, 3], 2, String)).toEqual({ items: [1, 2], next: '2' });
    expect(pageOf([1, 2], 2, String)).toEqual({ items: [1, 2], next: null });
    expect(pageOf([], 2, String)).toEqual({ items: [], next: null });
  });

  it('give back from a cursor what was put into it', () => {
    fc.assert(
      fc.property(fc.array(fc.string(), { maxLength: 3 }), fc.dictionary(fc.string(), fc.string()), (key, filter) => {
        expect(readCursor(writeCursor(key, filter), filter, key.length)).toEqual(key);
      }),
    );
  });

  it('refuse a cursor that was made for another filter, and any other text', () => {
    const cursor = writeCursor(['a'], { state: 'queued' });
    expect(() => readCursor(cursor, { state: 'failed' }, 1)).toThrow(InvalidCursor);
    expect(() => readCursor(cursor, { state: 'queued' }, 2)).toThrow(InvalidCursor);
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), (text) => expect(() => readCursor(text, {}, 1)).toThrow(InvalidCursor)),
    );
    expect(readCursor(undefined, {}, 1)).toBeUndefined();
    expect(readCursor('', {}, 1)).toBeUndefined();
  });

  it('see no difference between an absent condition and an undefined one', () => {
    expect(writeCursor(['a'], { state: undefined })).toBe(writeCursor(['a'], {}));
  });

  it('read only the conditions that are named, each once', () => {
    expect(readFilter({ a: 'x', b: '', c: 'z' } as Record<string, string>, ['a', 'b'])).toEqual({ a: 'x' });
    expect(() => readFilter({ a: ['x', 'y'] }, ['a'])).toThrow(InvalidFilter);
  });
});
