import { parseDuration } from '#contracts';
import { InvalidArgumentError, Option } from 'commander';

/** `30s`, `2h` as seconds. */
export const durationArgument = (text: string): number => {
  const parsed = parseDuration(text);
  if (!parsed.ok) throw new InvalidArgumentError(parsed.message);
  return parsed.value;
};

export const wholeArgument = (text: string): number => {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('a whole number is expected');
  return Number(text);
};

export const repeatable = (text: string, before: readonly string[]): readonly string[] => [...before, text];

export const limitOption = (): Option =>
  new Option('--limit <n>', 'how many at most').argParser(wholeArgument).default(50);
