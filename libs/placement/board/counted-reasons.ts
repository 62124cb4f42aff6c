import type { FilteredReason } from '#jobs';
import type { Millis } from '#kernel';
import type { ClusterNode } from '../cluster/state.js';
import { NEVER, PASS } from '../filters/check.js';
import type { Check, Offer, RequestCheck, Verdict } from '../filters/check.js';
import { REASONS } from '../filters/reasons.js';
import { formatValue } from '../units.js';
import { betterOffer } from './offers.js';

/* Reasons with the number of nodes behind each, as decisions record them. */

/** The first failing question is every node's primary reason. */
export const requestReasons = (failing: readonly RequestCheck[], considered: number): FilteredReason[] =>
  considered === 0
    ? []
    : failing.map((check, index) => {
        const counts = index === 0 ? { nodes: considered, also: 0 } : { nodes: 0, also: considered };
        return filteredReason(check, false, counts, check.offer);
      });

export const filteredReason = (
  { code, asked }: Pick<Check, 'code' | 'asked'>,
  never: boolean,
  { nodes, also }: { readonly nodes: number; readonly also: number },
  best: Offer,
): FilteredReason => {
  const { side, unit } = REASONS[code];
  return {
    reason: code,
    side,
    never,
    nodes,
    also,
    ...(asked === undefined ? {} : { asked }),
    ...(best === undefined ? {} : { best: formatValue(unit, best) }),
  };
};

interface Tally {
  nodes: number;
  also: number;
  best: Offer;
}

/**
 * The reasons of nodes that are asked one by one. `counts` says which verdicts are a reason at all; with `primary` a node's
 * first reason is its primary one, without it every one stands behind a reason of the request.
 */
export const countReasons = (
  checks: readonly Check[],
  nodes: Iterable<ClusterNode>,
  at: Millis,
  primary: boolean,
  counts: (check: Check, verdict: Verdict) => boolean,
): FilteredReason[] => {
  const tallies = new Map<number, Tally>();
  for (const node of nodes) {
    let first = primary;
    checks.forEach((check, index) => {
      const verdict = check.test(node, at);
      if (verdict === PASS || !counts(check, verdict)) return;
      count(tallies, 2 * index + (verdict === NEVER ? 1 : 0), first, offerOf(check, node, at), check);
      first = false;
    });
  }
  return [...tallies]
    .sort(([left], [right]) => left - right)
    .flatMap(([place, { best, ...tally }]) => {
      const check = checks[place >> 1];
      return check ? [filteredReason(check, place % 2 === 1, tally, best)] : [];
    });
};

const count = (tallies: Map<number, Tally>, place: number, first: boolean, offer: Offer, { code }: Check): void => {
  const tally = tallies.get(place) ?? { nodes: 0, also: 0, best: undefined };
  if (first) tally.nodes += 1;
  else tally.also += 1;
  tally.best = betterOffer(code, tally.best, offer);
  tallies.set(place, tally);
};

/** What tells of its node alone is not told with counts. */
const offerOf = (check: Check, node: ClusterNode, at: Millis): Offer =>
  REASONS[check.code].better === 'own' ? undefined : check.offer(node, at);
