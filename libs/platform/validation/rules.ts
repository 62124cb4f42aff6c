import { below, fault, isRecord, NO_FAULTS, shown } from './rule.js';
import type { Fault, Rule } from './rule.js';
import { didYouMean } from './suggest.js';

const wrongType = (wanted: string, value: unknown): readonly Fault[] => {
  const quotes = wanted.includes('text') && (typeof value === 'number' || typeof value === 'boolean');
  const hint = value === null ? '; leave the field out' : quotes ? '; put it in quotes' : '';
  return fault('WRONG_TYPE', `must be ${wanted}, not ${shown(value)}${hint}`);
};

export interface TextLimits {
  /** Fewest and most characters; 1 and 256 when not given. */
  readonly min?: number;
  readonly max?: number;
  /** The form, and how to say it: "letters and digits". */
  readonly form?: RegExp;
  readonly says?: string;
}

export const text =
  ({ min = 1, max = 256, form, says = 'of another form' }: TextLimits = {}): Rule =>
  (value) => {
    if (typeof value !== 'string') return wrongType('text', value);
    if (value.length < min)
      return fault('OUT_OF_RANGE', value === '' ? 'must not be empty' : `is under ${min} characters`);
    if (value.length > max) return fault('TOO_LONG', `is over ${max} characters`);
    return form?.test(value) === false ? fault('MALFORMED', `must be ${says}, not ${shown(value)}`) : NO_FAULTS;
  };

/** One line of text as people name things: no control characters, no blank at either end. */
export const line = (max = 128): Rule =>
  text({ max, form: /^(?! )[^\p{Cc}\p{Zl}\p{Zp}]*(?<! )$/u, says: 'one line without blanks at its ends' });

const IDENTIFIER = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

/** A name that stands in addresses and stream names: letters, digits, dots, dashes and underscores, at most 63. */
export const identifier: Rule = text({
  max: 63,
  form: IDENTIFIER,
  says: 'letters, digits, dots, dashes and underscores, beginning with a letter or digit',
});

export interface Range {
  readonly min?: number;
  readonly max?: number;
  /** Smallest difference that counts, such as 0.001. */
  readonly step?: number;
}

const inWords = ({ min, max }: Range): string => {
  if (min !== undefined && max !== undefined) return `${min} to ${max}`;
  return min === undefined ? `at most ${max ?? 'any'}` : `at least ${min}`;
};

const onStep = (value: number, size: number): boolean => {
  const steps = value / size;
  return Math.abs(steps - Math.round(steps)) < 1e-6;
};

export const number =
  (range: Range = {}): Rule =>
  (value) => {
    if (typeof value !== 'number' || !Number.isFinite(value)) return wrongType('a number', value);
    const { min = -Infinity, max = Infinity, step: size } = range;
    if (value < min || value > max) return fault('OUT_OF_RANGE', `must be ${inWords(range)}, not ${value}`);
    return size !== undefined && !onStep(value, size)
      ? fault('OUT_OF_RANGE', `must be in steps of ${size}, not ${value}`)
      : NO_FAULTS;
  };

export const whole =
  (min: number, max: number): Rule =>
  (value) =>
    typeof value === 'number' && Number.isFinite(value) && !Number.isInteger(value)
      ? fault('WRONG_TYPE', `must be a whole number, not ${value}`)
      : number({ min, max })(value);

export const flag: Rule = (value) => (typeof value === 'boolean' ? NO_FAULTS : wrongType('true or false', value));

/** One of a closed set of words. */
export const choice =
  (words: readonly string[]): Rule =>
  (value) => {
    if (typeof value !== 'string') return wrongType(`text, one of ${words.join(', ')}`, value);
    if (words.includes(value)) return NO_FAULTS;
    return fault('NOT_ALLOWED', `must be one of ${words.join(', ')}, not ${shown(value)}${didYouMean(value, words)}`);
  };

export interface ListLimits {
  readonly min?: number;
  readonly max?: number;
  /** Names what two items may not share; undefined compares nothing. */
  readonly unique?: (item: unknown) => unknown;
}

const repeated = (items: readonly unknown[], unique: (item: unknown) => unknown): readonly Fault[] => {
  const seen = new Set<unknown>();
  return items.flatMap((item, index) => {
    const key = unique(item);
    if (key === undefined) return NO_FAULTS;
    if (seen.has(key)) return below(index, fault('DUPLICATE', `repeats ${shown(key)}`));
    seen.add(key);
    return NO_FAULTS;
  });
};

export const list =
  (item: Rule, { min = 0, max = 1000, unique }: ListLimits = {}): Rule =>
  (value) => {
    if (!Array.isArray(value)) return wrongType('a list', value);
    const items: readonly unknown[] = value;
    if (items.length < min) return fault('OUT_OF_RANGE', min === 1 ? 'must not be empty' : `needs ${min} items`);
    if (items.length > max) return fault('TOO_LONG', `has ${items.length} items, over ${max}`);
    const each = items.flatMap((entry, index) => below(index, item(entry)));
    return unique ? [...each, ...repeated(items, unique)] : each;
  };

/** Keys that mean something to every object of the language; as data they have misled many a reader. */
const LANGUAGE_KEYS = new Set(['__proto__', 'constructor', 'prototype']);

export const map =
  (key: Rule, entry: Rule, max = 256): Rule =>
  (value) => {
    if (!isRecord(value)) return wrongType('an object', value);
    const entries = Object.entries(value);
    if (entries.length > max) return fault('TOO_LONG', `has ${entries.length} entries, over ${max}`);
    return entries.flatMap(([name, content]) => {
      const named = LANGUAGE_KEYS.has(name) ? fault('RESERVED', 'is no usable name') : key(name);
      return below(name, [...named, ...entry(content)]);
    });
  };

export const object: Rule = (value) => (isRecord(value) ? NO_FAULTS : wrongType('an object', value));

const SHA256 = /^[0-9a-f]{64}$/;
export const sha256: Rule = text({ max: 64, form: SHA256, says: '64 lower-case hexadecimal digits' });

/** All rules in turn; the first that finds something speaks. */
export const first =
  (...rules: readonly Rule[]): Rule =>
  (value) => {
    for (const rule of rules) {
      const found = rule(value);
      if (found.length > 0) return found;
    }
    return NO_FAULTS;
  };
