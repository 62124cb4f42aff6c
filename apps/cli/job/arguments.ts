import { parseDuration } from '#contracts';
import { InvalidArgumentError, Option } from 'commander';

/** `30s`, `2h` as seconds. */
export const durationArgument = (text: string): number => {
  const parsed = parseDuration(text);
  if (!parsed.ok) throw new InvalidArgumentError(parsed.message);
  return parsed.value;
};

const MOST = 999_999_999;

/** A whole number from `least` to 999,999,999. */
export const wholeArgument =
  (least: 0 | 1) =>
  (text: string): number => {
    const number = /^\d{1,9}$/.test(text) ? Number(text) : -1;
    if (number >= least) return number;
    throw new InvalidArgumentError(`a whole number from ${least} to ${MOST} is expected`);
  };

/** A position of the log: it has more digits than a number can hold. */
export const positionArgument = (text: string): string => {
  if (/^\d{1,19}$/.test(text)) return text;
  throw new InvalidArgumentError('a position of the log is expected, digits only');
};

export const repeatable = (text: string, before: readonly string[]): readonly string[] => [...before, text];

export const limitOption = (): Option =>
  new Option('--limit <n>', 'how many at most').argParser(wholeArgument(1)).default(50);
