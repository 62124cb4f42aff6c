import type { Millis } from '#kernel';

/**
 * Reservations in a row that a node did not take: declined, or not confirmed in time. `jobId` and `at` are of the last one;
 * a confirmation ends the row.
 */
export interface Refusals {
  count: number;
  jobId: string;
  at: Millis;
}

export const noRefusals = (): Refusals => ({ count: 0, jobId: '', at: 0 });

/** So many jobs in a row that a node did not take make the scheduler leave it out for a while. */
const SET_ASIDE_FROM = 3;
/** The first pause; each further refusal doubles it. */
const FIRST_PAUSE: Millis = 30_000;
const MOST_PAUSE: Millis = 600_000;

/**
 * One job that no node wants must not take nodes from all others, so at first a job counts once in a row. Of a node that is
 * set aside already only a try counts that was made since: what was on its way to it before says nothing new.
 */
export const countRefusal = (refusals: Refusals, jobId: string, reservedAt: Millis, at: Millis): void => {
  const said = refusals.count < SET_ASIDE_FROM ? jobId === refusals.jobId : reservedAt <= refusals.at;
  if (said) return;
  refusals.count += 1;
  refusals.jobId = jobId;
  refusals.at = Math.max(refusals.at, at);
};

/** The end of the pause of a node that keeps refusing; undefined for one that does not. After it the node gets one try. */
export const setAsideUntil = ({ count, at }: Refusals): Millis | undefined => {
  const more = count - SET_ASIDE_FROM;
  return more < 0 ? undefined : at + Math.min(MOST_PAUSE, FIRST_PAUSE * 2 ** Math.min(more, 10));
};
