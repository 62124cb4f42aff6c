import { fault, isRecord, shown, step } from './rule.js';
import type { Fault, FaultCode } from './rule.js';

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
  /** Names and indices from the root to the value in hand. A pointer is made of them only when something is wrong. */
  readonly path: (string | number)[];
  /** Values that may still be visited: JSON spends at least a byte on each, so more of them cannot fit. */
  left: number;
}

/** What neither a JSON column nor UTF-8 can hold: U+0000 and halves of a surrogate pair. */
const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes('\u0000');

const isPlain = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
};

const blame = (walk: Walk, code: FaultCode, message: string): void => {
  walk.faults.push(...fault(code, message, walk.path.map(step).join('')));
};

const visitScalar = (value: unknown, walk: Walk): void => {
  const bad = typeof value === 'bigint' || typeof value === 'function' || typeof value === 'symbol';
  if (bad) blame(walk, 'WRONG_TYPE', `must be JSON, not a ${typeof value}`);
  else if (typeof value === 'string' && !isStorable(value)) {
    blame(walk, 'MALFORMED', 'holds a character that cannot be stored (U+0000 or a broken one)');
  }
};

const visit = (value: unknown, walk: Walk): void => {
  walk.left -= 1;
  if (walk.left < 0) return;
  if (typeof value !== 'object' || value === null) visitScalar(value, walk);
  else if (walk.path.length >= walk.limits.maxDepth) {
    blame(walk, 'TOO_DEEP', `is nested over ${walk.limits.maxDepth} levels deep`);
  } else if (Array.isArray(value)) value.forEach((item, index) => visitBelow(index, item, walk));
  else if (!isPlain(value)) blame(walk, 'WRONG_TYPE', 'must be plain JSON, not an object of a class');
  else visitEntries(value, walk);
};

const visitBelow = (key: string | number, value: unknown, walk: Walk): void => {
  walk.path.push(key);
  visit(value, walk);
  walk.path.pop();
};

const visitEntries = (value: object, walk: Walk): void => {
  for (const [key, content] of Object.entries(value) as [string, unknown][]) {
    if (!isStorable(key)) blame(walk, 'MALFORMED', 'has a name with a character that cannot be stored');
    visitBelow(key, content, walk);
  }
};

/**
 * Whether the input is JSON of a bearable size and depth. Walks with a budget, so neither a cycle nor a small document
 * whose references multiply (as YAML allows) costs more than the limit.
 */
export const shapeFaults = (input: unknown, limits: ShapeLimits): readonly Fault[] => {
  const tooLarge = fault('TOO_LARGE', `is over ${limits.maxBytes} bytes as JSON`);
  const walk: Walk = { limits, faults: [], path: [], left: limits.maxBytes };
  visit(input, walk);
  if (walk.left < 0) return tooLarge;
  if (walk.faults.length > 0) return walk.faults;
  if (!isRecord(input)) return fault('WRONG_TYPE', `must be an object, not ${shown(input)}`);
  return Buffer.byteLength(JSON.stringify(input)) > limits.maxBytes ? tooLarge : [];
};
