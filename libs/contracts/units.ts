/* Sizes and durations as people write them, and back. Pure: command line, agent, page and server share it. */

/** What a text of a person became: the value, or what is wrong with it in words that complete "… is wrong: ". */
export type Parsed<Value> =
  { readonly ok: true; readonly value: Value } | { readonly ok: false; readonly message: string };

const KIBI = 1024;
const KILO = 1000;
const SIZE_PREFIXES = 'kmgtp';
const SIZE = /^([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?)\s*([a-z]*)$/i;
const SIZE_EXAMPLES = 'say 512MiB, 4GiB, 1.5GB or a number of bytes';

/** The unit's factor: `B`; `kB`, `MB`, … are powers of 1000; `KiB` or `Ki`, `MiB` or `Mi`, … of 1024. */
const sizeFactor = (unit: string): number | undefined => {
  if (unit === '' || unit === 'b') return 1;
  const power = SIZE_PREFIXES.indexOf(unit.charAt(0)) + 1;
  if (power === 0) return undefined;
  const rest = unit.slice(1);
  if (rest === 'b') return KILO ** power;
  return rest === 'i' || rest === 'ib' ? KIBI ** power : undefined;
};

const wrong = (message: string): { readonly ok: false; readonly message: string } => ({ ok: false, message });

const wholeBytes = (bytes: number): Parsed<number> => {
  if (!Number.isFinite(bytes)) return wrong('is no finite number');
  if (bytes < 0) return wrong('is negative');
  if (bytes > Number.MAX_SAFE_INTEGER) return wrong('is over 9007199254740991 bytes');
  return { ok: true, value: bytes + 0 };
};

const bytesOfText = (text: string): Parsed<number> => {
  const [, digits = '', unit = ''] = SIZE.exec(text.trim()) ?? [];
  if (digits === '') return wrong(`${JSON.stringify(text)} is no size; ${SIZE_EXAMPLES}`);
  const factor = sizeFactor(unit.toLowerCase());
  if (factor !== undefined) return wholeBytes(Math.round(Number(digits) * factor));
  const prefix = unit.charAt(0).toUpperCase();
  const both = unit.length === 1 && SIZE_PREFIXES.includes(unit.toLowerCase());
  return wrong(
    both
      ? `${JSON.stringify(text)} leaves open which unit; say ${digits}${prefix}iB (powers of 1024) or ${digits}${prefix}B (of 1000)`
      : `${JSON.stringify(text)} has the unknown unit ${unit}; ${SIZE_EXAMPLES}`,
  );
};

/**
 * Bytes from `4GiB`, `512MiB`, `1.5GB`, `1e9` (text or number). A text is rounded to whole bytes; a number must be whole.
 * Range 0…2⁵³−1. A bare `4G` is refused, because half of the world reads it as powers of 1000 and half as 1024.
 */
export const parseBytes = (input: string | number): Parsed<number> => {
  if (typeof input === 'string') return bytesOfText(input);
  return Number.isFinite(input) && !Number.isInteger(input)
    ? wrong(`${input} is no whole number of bytes`)
    : wholeBytes(input);
};

/** Seconds in each unit, largest first: the order in which parts are written. */
const DURATION_UNITS: readonly (readonly [string, number])[] = [
  ['w', 604_800],
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
  ['s', 1],
  ['ms', 0.001],
];
const DURATION_FACTORS = new Map<string, number>([...DURATION_UNITS, ['min', 60]]);
const DURATION_PART = /(\d+(?:\.\d+)?)\s*(ms|min|[wdhms])\s*/y;
const DURATION_EXAMPLES = 'say 30s, 2h, 1d, 1h30m, 500ms or a number of seconds';

/** Longest duration that is taken, in seconds: a hundred years, so that every deadline is a date that can be written. */
export const MAX_DURATION = 100 * 365 * 86_400;

const boundedSeconds = (seconds: number): Parsed<number> => {
  if (!Number.isFinite(seconds)) return wrong('is no finite number');
  if (seconds < 0) return wrong('is negative');
  if (seconds > MAX_DURATION) return wrong('is over a hundred years');
  return { ok: true, value: Math.round(seconds * 1000) / 1000 + 0 };
};

const secondsOfParts = (text: string): number | undefined => {
  const part = new RegExp(DURATION_PART);
  let seconds = 0;
  while (part.lastIndex < text.length) {
    const [, digits, unit = ''] = part.exec(text) ?? [];
    const factor = DURATION_FACTORS.get(unit);
    if (digits === undefined || factor === undefined) return undefined;
    seconds += Number(digits) * factor;
  }
  return seconds;
};

const secondsOfText = (text: string): Parsed<number> => {
  const trimmed = text.trim();
  const negative = trimmed.startsWith('-');
  const body = negative ? trimmed.slice(1).trim() : trimmed;
  const seconds = /^\d+(?:\.\d+)?(?:e\d+)?$/i.test(body) ? Number(body) : body && secondsOfParts(body);
  if (seconds === undefined || seconds === '') {
    return wrong(`${JSON.stringify(text)} is no duration; ${DURATION_EXAMPLES}`);
  }
  return boundedSeconds(negative ? -seconds : seconds);
};

/**
 * Seconds (to the millisecond) from `30s`, `2h`, `1d`, `1h30m`, `500ms`, or from a number of seconds. Units: `ms`, `s`,
 * `m` or `min`, `h`, `d` (24 h), `w` (7 d). Range 0…`MAX_DURATION`.
 */
export const parseDuration = (input: string | number): Parsed<number> =>
  typeof input === 'string' ? secondsOfText(input) : boundedSeconds(input);

const threeDigits = (value: number): string => {
  const digits = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return String(Number(value.toFixed(digits)));
};

/** For people: `1.5 KiB`, `4 GiB`, `512 B`; three digits at most, read back by `parseBytes` to within 0.5 %. */
export const formatBytes = (bytes: number): string => {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  let value = bytes;
  let unit = 0;
  while (Math.abs(value) >= 999.5 && unit < units.length - 1) {
    value /= KIBI;
    unit += 1;
  }
  return `${unit === 0 ? value : threeDigits(value)} ${units[unit]}`;
};

/** The line that stands in a log for bytes that nobody kept. */
export const leftOutLine = (bytes: number): string => `… ${formatBytes(bytes)} left out here …`;

/** For people: the two largest units that matter, `1h30m`, `2d`, `45s`, `1.5s`, `20ms`; read back by `parseDuration`. */
export const formatDuration = (seconds: number): string => {
  if (seconds < 0) return `-${formatDuration(-seconds)}`;
  if (seconds < 1) return `${Math.round(seconds * 1000)}ms`;
  if (seconds < 10) return `${Number(seconds.toFixed(1))}s`;
  return wholeParts(Math.round(seconds));
};

const wholeParts = (seconds: number): string => {
  const units = DURATION_UNITS.filter(([unit]) => unit !== 'w' && unit !== 'ms');
  const first = units.findIndex(([, factor]) => seconds >= factor);
  const [second = ['s', 1] as const] = units.slice(first + 1);
  let rest = Math.round(seconds / second[1]) * second[1];
  let text = '';
  for (const [unit, factor] of units.slice(Math.max(0, first - 1), first + 2)) {
    const amount = Math.floor(rest / factor);
    if (amount > 0) text += `${amount}${unit}`;
    rest -= amount * factor;
  }
  return text;
};
