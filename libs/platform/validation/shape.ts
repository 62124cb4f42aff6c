import { fault, isRecord, shown, step } from './rule.js';
import type { Fault } from './rule.js';

/** Bounds on the input as a whole, looked at before any field is. */
export interface ShapeLimits {
  /** Bytes of its JSON. */
  readonly maxBytes: number;
  /** Objects and lists inside one another. */
  readonly maxDepth: number;
}

export const DEFAULT_LIMITS: ShapeLimits = { maxBytes: 256 * 1024, maxDepth: 16 };

interface Walk {
  readonly limits: ShapeLimits;
  readonly faults: Fault[];
  /** Values that may still be visited: JSON spends at least a byte on each, so more of them cannot fit. */
  left: number;
}

/** What neither a JSON column nor UTF-8 can hold: U+0000 and halves of a surrogate pair. */
const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes('\u0000');

const isPlain = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
};

const visitScalar = (value: unknown, at: string, walk: Walk): void => {
  const bad = typeof value === 'bigint' || typeof value === 'function' || typeof value === 'symbol';
  if (bad) walk.faults.push(...fault('WRONG_TYPE', `must be JSON, not a ${typeof value}`, at));
  else if (typeof value === 'string' && !isStorable(value)) {
    walk.faults.push(...fault('MALFORMED', 'holds a character that cannot be stored (U+0000 or a broken one)', at));
  }
};

const visit = (value: unknown, at: string, depth: number, walk: Walk): void => {
  walk.left -= 1;
  if (walk.left < 0) return;
  if (typeof value !== 'object' || value === null) {
    visitScalar(value, at, walk);
  } else if (depth > walk.limits.maxDepth) {
    walk.faults.push(...fault('TOO_DEEP', `is nested over ${walk.limits.maxDepth} levels deep`, at));
  } else if (Array.isArray(value)) {
    value.forEach((item, index) => visit(item, at + step(index), depth + 1, walk));
  } else if (!isPlain(value)) {
    walk.faults.push(...fault('WRONG_TYPE', `must be plain JSON, not ${shown(value)} of a class`, at));
  } else visitEntries(value, at, depth, walk);
};

const visitEntries = (value: object, at: string, depth: number, walk: Walk): void => {
  for (const [key, content] of Object.entries(value) as [string, unknown][]) {
    if (!isStorable(key))
      walk.faults.push(...fault('MALFORMED', 'has a name with a character that cannot be stored', at));
    visit(content, at + step(key), depth + 1, walk);
  }
};

/**
 * Whether the input is JSON of a bearable size and depth. Walks with a budget, so neither a cycle nor a small document
 * whose references multiply (as YAML allows) costs more than the limit.
 */
export const shapeFaults = (input: unknown, limits: ShapeLimits): readonly Fault[] => {
  const tooLarge = fault('TOO_LARGE', `is over ${limits.maxBytes} bytes as JSON`);
  const walk: Walk = { limits, faults: [], left: limits.maxBytes };
  visit(input, '', 1, walk);
  if (walk.left < 0) return tooLarge;
  if (walk.faults.length > 0) return walk.faults;
  if (!isRecord(input)) return fault('WRONG_TYPE', `must be an object, not ${shown(input)}`);
  return Buffer.byteLength(JSON.stringify(input)) > limits.maxBytes ? tooLarge : [];
};
