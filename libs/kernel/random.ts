import type { Ids, Random } from './ports.js';

/** A repeatable random source from a 32-bit seed (the mulberry32 generator, public domain, T. Ettinger 2017). */
export const seededRandom = (seed: number): Random => {
  let state = seed >>> 0;
  return {
    next: () => {
      state = (state + 0x6d2b79f5) >>> 0;
      let mixed = Math.imul(state ^ (state >>> 15), state | 1);
      mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
    },
  };
};

/** Identifiers that count up (`<prefix>-1`, …) in the shape of a UUID: for histories that must come out the same each time. */
export const countingIds = (prefix = 0): Ids => {
  let count = 0;
  return {
    next: () => {
      count += 1;
      const tail = count.toString(16).padStart(12, '0');
      return `${prefix.toString(16).padStart(8, '0')}-0000-7000-8000-${tail}`;
    },
  };
};
