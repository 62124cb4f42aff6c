import { formatBytes, formatDuration, parseBytes, parseDuration } from '#contracts';
import type { Parsed } from '#contracts';
import { fault, NO_FAULTS, shown } from './rule.js';
import type { Rule } from './rule.js';

/* Sizes and durations, as text or number, in every field that holds one. */

/** How a client may write a size or a duration. */
export type Measure = string | number;

interface MeasureKind {
  readonly parse: (input: Measure) => Parsed<number>;
  readonly format: (value: number) => string;
  readonly what: string;
}

const measure =
  (kind: MeasureKind, min: number, max: number): Rule =>
  (value) => {
    if (typeof value !== 'string' && typeof value !== 'number') {
      return fault(
        'WRONG_TYPE',
        `must be ${kind.what}, not ${shown(value)}${value === null ? '; leave the field out' : ''}`,
      );
    }
    const parsed = kind.parse(value);
    if (!parsed.ok) return fault(parsed.message === 'is negative' ? 'OUT_OF_RANGE' : 'MALFORMED', parsed.message);
    if (parsed.value < min) return fault('OUT_OF_RANGE', `must be at least ${kind.format(min)}, not ${shown(value)}`);
    return parsed.value > max
      ? fault('OUT_OF_RANGE', `must be at most ${kind.format(max)}, not ${shown(value)}`)
      : NO_FAULTS;
  };

const SIZE: MeasureKind = { parse: parseBytes, format: formatBytes, what: 'a size such as 512MiB' };
const DURATION: MeasureKind = { parse: parseDuration, format: formatDuration, what: 'a duration such as 30s' };

export const size = (min = 0, max = Number.MAX_SAFE_INTEGER): Rule => measure(SIZE, min, max);
export const duration = (min = 0, max = Number.MAX_SAFE_INTEGER): Rule => measure(DURATION, min, max);

const accepted = (parsed: Parsed<number>): number => {
  if (!parsed.ok) throw new Error(`a checked measure no longer parses: it ${parsed.message}`);
  return parsed.value;
};

/** Bytes of a size that its rule has let pass. */
export const bytesOf = (checked: Measure): number => accepted(parseBytes(checked));

/** Seconds of a duration that its rule has let pass. */
export const secondsOf = (checked: Measure): number => accepted(parseDuration(checked));

const ifValid =
  ({ parse }: MeasureKind) =>
  (value: unknown): number | undefined => {
    if (typeof value !== 'string' && typeof value !== 'number') return undefined;
    const parsed = parse(value);
    return parsed.ok ? parsed.value : undefined;
  };

/** Seconds, or undefined when absent or wrong: for rules that compare fields which their own rules look at. */
export const secondsIfValid = ifValid(DURATION);

/** Bytes in the same way. */
export const bytesIfValid = ifValid(SIZE);
