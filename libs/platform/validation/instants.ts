import { toInstant, toMillis } from '#kernel';
import type { Instant } from '#kernel';
import { fault, NO_FAULTS, shown } from './rule.js';
import type { Rule } from './rule.js';
import { first, text } from './rules.js';

const RFC3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/i;

/** A moment as RFC 3339, with `Z` or an offset. */
export const instantRule: Rule = first(text({ max: 40 }), (value) =>
  RFC3339.test(String(value)) && Number.isFinite(toMillis(String(value)))
    ? NO_FAULTS
    : fault('MALFORMED', `must be a time such as 2026-11-29T20:11:05Z, not ${shown(value)}`),
);

/** The instant of a moment that the rule has let pass, in UTC with milliseconds. */
export const instantOf = (checked: string): Instant => toInstant(toMillis(checked));
