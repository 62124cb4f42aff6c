import type { Millis } from '#kernel';
import type { TimeWindow, Weekday } from '#nodes';
import { instantOf, isTimeZone, localDay, weekdayOf } from './zone.js';

const DAY = 86_400_000;
const WEEK_MINUTES = 7 * 1440;
const WEEKDAYS: readonly Weekday[] = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'];
/** A week and the days its first and last windows reach over. */
const DAYS_AHEAD = 9;

/**
 * How a node's windows stand at a moment, and between which moments that answer stays the same. `closesAt` is when the
 * unbroken open span ends (windows that touch are one span), Infinity when it never does; `opensAt` is the next opening.
 */
export interface WindowState {
  readonly open: boolean;
  readonly closesAt: Millis;
  readonly opensAt: Millis;
  readonly from: Millis;
  readonly until: Millis;
}

interface Span {
  readonly start: Millis;
  end: Millis;
}

/** The answer last given for a list of windows: derived data, kept beside the state and not in it. */
const answers = new WeakMap<readonly TimeWindow[], WindowState>();

/** An empty list is never open. A window with an unknown zone, day or time is never open either. */
export const windowState = (windows: readonly TimeWindow[], at: Millis): WindowState => {
  const known = answers.get(windows);
  if (known && at >= known.from && at < known.until) return known;
  const state = compute(windows, at);
  answers.set(windows, state);
  return state;
};

const compute = (windows: readonly TimeWindow[], at: Millis): WindowState => {
  const spans = merge(windows.flatMap((window) => spansOf(window, at)));
  const horizon = at + (DAYS_AHEAD - 1) * DAY;
  let last = -Infinity;
  for (const { start, end } of spans) {
    if (start > at) return { open: false, closesAt: at, opensAt: start, from: Math.max(last, at - DAY), until: start };
    if (end > at) return opened(start, end, horizon, at);
    last = end;
  }
  return { open: false, closesAt: at, opensAt: Infinity, from: Math.max(last, at - DAY), until: at + DAY };
};

/** A span that reaches the horizon covers a whole week, and so every week. It is looked at again after a day. */
const opened = (start: Millis, end: Millis, horizon: Millis, at: Millis): WindowState =>
  end >= horizon
    ? { open: true, closesAt: Infinity, opensAt: at, from: Math.max(start, at - DAY), until: at + DAY }
    : { open: true, closesAt: end, opensAt: start, from: start, until: end };

const spansOf = (window: TimeWindow, at: Millis): Span[] => {
  const from = minutesOf(window.from);
  const to = minutesOf(window.to);
  if (from === undefined || to === undefined || !isTimeZone(window.timeZone)) return [];
  const today = localDay(window.timeZone, at);
  const spans: Span[] = [];
  for (let day = today - 2; day <= today + DAYS_AHEAD; day += 1) {
    const name = WEEKDAYS[weekdayOf(day)];
    if (name === undefined || !window.days.includes(name)) continue;
    const start = instantOf(window.timeZone, day, from);
    const end = instantOf(window.timeZone, to > from ? day : day + 1, to);
    if (end > start) spans.push({ start, end });
  }
  return spans;
};

const merge = (spans: readonly Span[]): Span[] => {
  const merged: Span[] = [];
  for (const { start, end } of [...spans].sort((left, right) => left.start - right.start)) {
    const last = merged.at(-1);
    if (last && start <= last.end) last.end = Math.max(last.end, end);
    else merged.push({ start, end });
  }
  return merged;
};

const minutesOf = (text: string): number | undefined => {
  const match = /^(\d{2}):(\d{2})$/.exec(text);
  if (!match) return undefined;
  const minutes = Number(match[1]) * 60 + Number(match[2]);
  return Number(match[2]) < 60 && minutes <= 1440 ? minutes : undefined;
};

/**
 * The longest unbroken open span of an ordinary week, in seconds (Infinity when always open, 0 when never): a job that
 * takes longer can never run here. Days are taken as 24 hours plus one for the night the clocks go back.
 */
export const longestWindow = (windows: readonly TimeWindow[]): number => {
  const spans = merge(windows.flatMap(weeklySpans));
  const longest = Math.max(0, ...spans.map(({ start, end }) => end - start));
  if (longest >= WEEK_MINUTES) return Infinity;
  return longest === 0 ? 0 : (longest + 60) * 60;
};

/** In minutes of two weeks on end, so that a span over the week's end is seen whole; zones count as one. */
const weeklySpans = (window: TimeWindow): Span[] => {
  const from = minutesOf(window.from);
  const to = minutesOf(window.to);
  if (from === undefined || to === undefined || !isTimeZone(window.timeZone)) return [];
  const length = to > from ? to - from : to + 1440 - from;
  return window.days.flatMap((name) => {
    const start = WEEKDAYS.indexOf(name) * 1440 + from;
    return [start, start + WEEK_MINUTES].map((begin) => ({ start: begin, end: begin + length }));
  });
};
