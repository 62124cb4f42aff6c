import { EVENT_TYPES } from '#contracts';
import { limitText, ListQuery, parsed } from '#platform/http';
import {
  choice,
  first,
  instantOf,
  instantRule,
  Optional,
  plain,
  Required,
  text,
  validateInput,
} from '#platform/validation';
import type { Rule } from '#platform/validation';
import type { JobStateName } from '../../domain/state.js';

const STATES: Readonly<Record<JobStateName, true>> = {
  blocked: true,
  queued: true,
  reserved: true,
  running: true,
  paused: true,
  completed: true,
  failed: true,
  cancelled: true,
};

/** What happens to nodes and projects. */
const FOREIGN = /^(?:Node|Capacity|Project)/;

const DAY = /^\d{4}-\d{2}-\d{2}$/;
/** A moment, or a day, which begins at midnight UTC. */
const momentOf = (since: string): string => (DAY.test(since) ? `${since}T00:00:00Z` : since);
const since: Rule = first(text({ max: 40, form: /^[1-9]/, says: 'a time such as 2026-11-29T20:11:05Z' }), (value) =>
  instantRule(momentOf(String(value))),
);
const word = text();

/** The conditions of the list of jobs. */
export class JobListQuery extends ListQuery {
  @Optional(choice(Object.keys(STATES)))
  state?: string;

  @Optional(word)
  project?: string;

  @Optional(word)
  node?: string;

  @Optional(word)
  name?: string;

  @Optional(choice(['batch', 'ops', 'service', 'daemon']))
  type?: string;

  @Optional(since)
  since?: string;
}

/** What takes no conditions refuses them all. */
// eslint-disable-next-line @typescript-eslint/no-extraneous-class -- its emptiness is what it says
export class NoQuery {}

/** The conditions of a job's history. */
export class TimelineQuery extends ListQuery {
  @Optional(text())
  execution?: string;

  @Optional(choice(EVENT_TYPES.filter((type) => !FOREIGN.test(type))))
  type?: string;
}

/** The conditions of the queue. */
export class QueueQuery {
  @Optional(limitText)
  limit?: string;

  /** Longer than that of other lists: it carries the shares of projects. */
  @Optional(text({ max: 12_000 }))
  cursor?: string;

  @Optional(word)
  project?: string;
}

const decisionNumber = text({ max: 200, form: /^[1-9]\d{0,8}$/, says: 'the number of a decision, 1 to 999999999' });

class DecisionQuery {
  @Required(decisionNumber)
  number!: string;

  @Optional(word)
  node?: string;
}

/** Which decision, and about which node. Throws the problem that names every mistake. */
export const readDecision = (number: string, query: unknown): { number: number; node?: string } => {
  const { number: checked, node } = plain(parsed(validateInput(DecisionQuery, { ...(query ?? {}), number })));
  return { number: Number(checked), ...(node !== undefined && { node }) };
};

/** The checked `since` as an instant. */
export const sinceOf = ({ since: given }: Pick<JobListQuery, 'since'>): { since?: string } =>
  given === undefined ? {} : { since: instantOf(momentOf(given)) };
