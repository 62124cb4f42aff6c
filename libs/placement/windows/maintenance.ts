import { toMillis } from '#kernel';
import type { Millis } from '#kernel';
import type { Maintenance } from '#nodes';

/** How a node's maintenances stand at a moment: the end of the one that goes on, the next one that comes. */
export interface MaintenanceState {
  /** When the present one is over, with those that follow it without a gap; undefined when there is none. */
  readonly endsAt: Millis | undefined;
  readonly next: Span | undefined;
}

interface Span {
  readonly from: Millis;
  readonly until: Millis;
}

/** The times of a list in order, those that touch as one: derived data, kept beside the state and not in it. */
const spans = new WeakMap<readonly Maintenance[], readonly Span[]>();

const spansOf = (list: readonly Maintenance[]): readonly Span[] => {
  const known = spans.get(list);
  if (known) return known;
  const merged: Span[] = [];
  const times = list.map(({ from, until }) => ({ from: toMillis(from), until: toMillis(until) }));
  for (const span of times.sort((left, right) => left.from - right.from)) {
    const last = merged.at(-1);
    if (!last || span.from > last.until) merged.push(span);
    else merged[merged.length - 1] = { from: last.from, until: Math.max(last.until, span.until) };
  }
  spans.set(list, merged);
  return merged;
};

export const maintenanceState = (list: readonly Maintenance[], at: Millis): MaintenanceState => {
  let endsAt: Millis | undefined;
  for (const span of spansOf(list)) {
    if (span.until <= at) continue;
    if (span.from > at) return { endsAt, next: span };
    endsAt = span.until;
  }
  return { endsAt, next: undefined };
};

/** The maintenance that goes on at a moment: of several the one that began last. */
export const maintenanceAt = (list: readonly Maintenance[], at: Millis): Maintenance | undefined =>
  list
    .filter(({ from, until }) => toMillis(from) <= at && at < toMillis(until))
    .reduce<Maintenance | undefined>((last, one) => (last && last.from >= one.from ? last : one), undefined);
