import { fromMilli, toInstant } from '#kernel';

/*
 * Amounts are held as whole numbers, so that sums are exact whatever the order: cores and GPU shares in thousandths,
 * memory and disk in bytes, durations in seconds, moments in milliseconds.
 */

/** The kinds of value that a reason compares; each has one way to be written and one way to be the better of two. */
export type Unit = 'bytes' | 'milli' | 'count' | 'seconds' | 'instant' | 'money' | 'version' | 'text';

const BYTE_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const;

/** At most two decimals, none that are zero: `1.5`, `48`. */
const short = (amount: number): string => String(Math.round(amount * 100) / 100);

/** `48 GiB`, `1.5 TiB`, `0 B`. */
export const formatBytes = (bytes: number): string => {
  let amount = Math.max(0, bytes);
  let unit = 0;
  while (amount >= 1024 && unit < BYTE_UNITS.length - 1) {
    amount /= 1024;
    unit += 1;
  }
  return `${short(amount)} ${BYTE_UNITS[unit] ?? 'B'}`;
};

const SPANS: readonly (readonly [number, string])[] = [
  [86_400, 'd'],
  [3_600, 'h'],
  [60, 'min'],
];

/** The two largest units that are not zero: `2 h 30 min`, `45 s`. */
export const formatSeconds = (seconds: number): string => {
  let rest = Math.max(0, Math.floor(seconds));
  const parts: string[] = [];
  for (const [span, name] of SPANS) {
    const whole = Math.floor(rest / span);
    if (whole > 0) parts.push(`${whole} ${name}`);
    rest -= whole * span;
  }
  if (rest > 0 || parts.length === 0) parts.push(`${rest} s`);
  return parts.slice(0, 2).join(' ');
};

/** A value of a reason as people read it. */
export const formatValue = (unit: Unit, value: number | string): string => {
  if (typeof value === 'string') return value;
  if (unit === 'bytes') return formatBytes(value);
  if (unit === 'seconds') return formatSeconds(value);
  if (unit === 'instant') return toInstant(value);
  if (unit === 'milli') return String(fromMilli(Math.max(0, value)));
  return short(Math.max(0, value));
};
