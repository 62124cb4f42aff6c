import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { CacheIndex } from './cache-index.js';
import type { CacheEntry } from './cache-index.js';

describe('what a cache keeps', () => {
  it('lets the least recently used go, by use and not by arrival', () => {
    const index = new CacheIndex();
    for (const name of ['a', 'b', 'c']) index.add(name, 10);
    index.release(index.use('a')!);
    expect(index.overflow(20)).toEqual(['b']);
    expect(index.overflow(9)).toEqual(['b', 'c', 'a']);
    expect(index.overflow(30)).toEqual([]);
  });

  it('never lets go what is in use, as often as it is in use', () => {
    const index = new CacheIndex();
    index.add('a', 10);
    index.add('b', 10);
    const [first, second] = [index.use('a')!, index.use('a')!];
    index.release(first);
    expect(index.overflow(0)).toEqual(['b']);
    index.release(second);
    expect(index.overflow(0)).toEqual(['b', 'a']);
  });

  it('a lease on a file that was replaced does not count for the new one', () => {
    const index = new CacheIndex();
    index.add('a', 10);
    const old = index.use('a')!;
    index.add('a', 12);
    const fresh = index.use('a')!;
    index.release(old);
    expect(index.overflow(0)).toEqual([]);
    index.release(fresh);
    expect(index.overflow(0)).toEqual(['a']);
    expect(index.total).toBe(12);
  });

  it('tells the most recently used that are worth telling', () => {
    const index = new CacheIndex();
    index.add('small', 1);
    for (const name of ['a', 'b', 'c']) index.add(name, 10);
    index.use('a');
    expect(index.recent(10, 2)).toEqual(['a', 'c']);
  });

  it('whatever happens, what goes is just enough, unused and the oldest', () => {
    const step = fc.tuple(fc.constantFrom('add', 'use', 'release', 'remove'), fc.nat({ max: 5 }), fc.nat({ max: 50 }));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), fc.nat({ max: 150 }), (steps, limit) => {
        const index = new CacheIndex();
        const leases: [string, CacheEntry][] = [];
        const present = new Map<string, number>();
        for (const [kind, number, size] of steps) {
          const name = `n${number}`;
          if (kind === 'add') {
            index.add(name, size);
            present.delete(name);
            present.set(name, size);
            leases.splice(0, leases.length, ...leases.filter(([leased]) => leased !== name));
          } else if (kind === 'remove') {
            index.remove(name);
            present.delete(name);
            leases.splice(0, leases.length, ...leases.filter(([leased]) => leased !== name));
          } else if (kind === 'use') {
            const entry = index.use(name);
            if (!entry) continue;
            leases.push([name, entry]);
            const bytes = present.get(name)!;
            present.delete(name);
            present.set(name, bytes);
          } else {
            const lease = leases.shift();
            if (lease) index.release(lease[1]);
          }
        }
        const used = new Set(leases.map(([name]) => name));
        const total = [...present.values()].reduce((sum, bytes) => sum + bytes, 0);
        expect(index.total).toBe(total);
        const expected: string[] = [];
        let left = total;
        for (const [name, bytes] of present) {
          if (left <= limit || used.has(name)) continue;
          expected.push(name);
          left -= bytes;
        }
        expect(index.overflow(limit)).toEqual(expected);
        expect(index.recent(0, 99)).toEqual([...present.keys()].reverse());
      }),
    );
  });
});
