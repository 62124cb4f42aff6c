import type { Millis } from '#kernel';

const MINUTE = 60_000;
const DAY = 86_400_000;

/** A date on some zone's calendar, as the number of days since 1970-01-01. */
export type LocalDay = number;

/**
 * A zone's own clock. Making a formatter costs a thousand times what using it does, so each zone keeps one for ever
 * (there are a few hundred zones).
 */
const formatters = new Map<string, Intl.DateTimeFormat | undefined>();

const formatterOf = (timeZone: string): Intl.DateTimeFormat | undefined => {
  if (!formatters.has(timeZone)) formatters.set(timeZone, makeFormatter(timeZone));
  return formatters.get(timeZone);
};

const makeFormatter = (timeZone: string): Intl.DateTimeFormat | undefined => {
  try {
    return new Intl.DateTimeFormat('en-US', {
      timeZone,
      calendar: 'gregory',
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
  } catch {
    return undefined;
  }
};

/** Whether the name is a time zone known here. */
export const isTimeZone = (timeZone: string): boolean => formatterOf(timeZone) !== undefined;

/** What the zone's wall clock shows at an instant, as if it were UTC; NaN for an unknown zone. */
const wallClock = (timeZone: string, at: Millis): Millis => {
  const formatter = formatterOf(timeZone);
  if (!formatter) return NaN;
  const fields: Record<string, number> = {};
  for (const part of formatter.formatToParts(at)) fields[part.type] = Number(part.value);
  const { year = NaN, month = NaN, day = NaN, hour = NaN, minute = NaN, second = NaN } = fields;
  return Date.UTC(year, month - 1, day, hour, minute, second) + (at - Math.floor(at / 1000) * 1000);
};

export const localDay = (timeZone: string, at: Millis): LocalDay => Math.floor(wallClock(timeZone, at) / DAY);

/** 0 is Monday. */
export const weekdayOf = (day: LocalDay): number => (((day + 3) % 7) + 7) % 7;

/**
 * The instant at which the zone's clock shows `minutes` past midnight of `day`. When clocks go back and it shows that
 * time twice, the first; when they go forward and it never does, as much later as the clock jumped (the usual rule).
 */
export const instantOf = (timeZone: string, day: LocalDay, minutes: number): Millis => {
  const wall = day * DAY + minutes * MINUTE;
  const before = wallClock(timeZone, wall - DAY) - (wall - DAY);
  const after = wallClock(timeZone, wall + DAY) - (wall + DAY);
  const early = wall - Math.max(before, after);
  const late = wall - Math.min(before, after);
  if (wallClock(timeZone, early) === wall) return early;
  if (wallClock(timeZone, late) === wall) return late;
  return wall - before;
};
