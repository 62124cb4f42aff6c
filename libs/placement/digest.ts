import { byText } from '#kernel';
import type { Decision } from '#jobs';

/**
 * A short text that stays the same while a job waits for the same reasons: the outcome and the codes of all failing reasons
 * with their "never" marks, and where the job stands in line. Counts and best values are left out, for they change with
 * every other job. A deferral is recorded anew only when this changes.
 */
export const reasonsDigest = (decision: Pick<Decision, 'outcome' | 'filtered' | 'lines'>): string => {
  const codes = new Set(decision.filtered.map(({ reason, never }) => (never ? `${reason}!` : reason)));
  const places = (decision.lines ?? []).map(({ pool, hold }) => `@${pool}${hold ? `=${hold.nodeId}` : ''}`);
  return [decision.outcome, ...[...codes].sort(byText), ...places].join(' ');
};
