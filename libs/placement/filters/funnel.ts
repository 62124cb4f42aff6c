import type { FilteredReason } from '#jobs';
import type { Millis } from '#kernel';
import type { ClusterNode } from '../cluster/state.js';
import { compareVersions, parseVersion } from '../requirements/version.js';
import { formatValue } from '../units.js';
import { NEVER, PASS } from './check.js';
import type { Check, Offer, Verdict } from './check.js';
import { REASONS } from './reasons.js';
import type { ReasonDefinition } from './reasons.js';

/** What is left of the nodes after all checks, and what became of the rest. */
export interface Funnel {
  readonly considered: number;
  readonly eligible: readonly ClusterNode[];
  /** Nodes without a "never" among their reasons: they may take the job one day as they are. */
  readonly possible: number;
  readonly filtered: readonly FilteredReason[];
  /** When waiting alone may first let another node in; Infinity for never. */
  readonly wakesAt: Millis;
}

/** Two tallies for each check: failed for now (even places) and for ever (odd places). */
interface Tallies {
  readonly primary: Int32Array;
  readonly also: Int32Array;
  readonly best: Offer[];
}

interface Progress {
  possible: number;
  wakesAt: Millis;
}

/** Puts every check to every node; counts come out the same whatever the order of the nodes. */
export const funnel = (checks: readonly Check[], nodes: Iterable<ClusterNode>, at: Millis): Funnel => {
  const tallies: Tallies = {
    primary: new Int32Array(checks.length * 2),
    also: new Int32Array(checks.length * 2),
    best: new Array<Offer>(checks.length * 2).fill(undefined),
  };
  const eligible: ClusterNode[] = [];
  const progress: Progress = { possible: 0, wakesAt: Infinity };
  let considered = 0;
  for (const node of nodes) {
    considered += 1;
    if (passes(checks, node, at, tallies, progress)) eligible.push(node);
  }
  return { considered, eligible, ...progress, filtered: listReasons(checks, tallies) };
};

const passes = (
  checks: readonly Check[],
  node: ClusterNode,
  at: Millis,
  tallies: Tallies,
  progress: Progress,
): boolean => {
  let failed = 0;
  let never = false;
  let wakesAt = Infinity;
  for (let index = 0; index < checks.length; index += 1) {
    const check = checks[index] as Check;
    const verdict = check.test(node, at);
    if (verdict === PASS) continue;
    failed += 1;
    tally(tallies, index, verdict, check, check.offer(node, at), failed === 1);
    if (verdict === NEVER) never = true;
    else wakesAt = Math.min(wakesAt, check.until(node, at) ?? Infinity);
  }
  if (never) return false;
  progress.possible += 1;
  progress.wakesAt = Math.min(progress.wakesAt, wakesAt);
  return failed === 0;
};

const tally = (tallies: Tallies, index: number, verdict: Verdict, check: Check, offer: Offer, first: boolean): void => {
  const place = index * 2 + (verdict === NEVER ? 1 : 0);
  const counts = first ? tallies.primary : tallies.also;
  counts[place] = (counts[place] ?? 0) + 1;
  if (offer !== undefined) tallies.best[place] = betterOffer(REASONS[check.code], tallies.best[place], offer);
};

/** Symmetric and associative, so that the best does not depend on the order in which nodes are seen. */
const betterOffer = ({ better, unit }: ReasonDefinition, known: Offer, offer: Offer): Offer => {
  if (known === undefined || offer === undefined) return known ?? offer;
  if (typeof known === 'number' && typeof offer === 'number') {
    return better === 'higher' ? Math.max(known, offer) : Math.min(known, offer);
  }
  const [left, right] = [String(known), String(offer)];
  const order = unit === 'version' ? versionOrder(left, right) : 0;
  return order !== 0 ? (order > 0 ? left : right) : left < right ? left : right;
};

/** What has an order comes before what has none, then by prefix, so that the order is total. */
const versionOrder = (left: string, right: string): number => {
  const [leftVersion, rightVersion] = [parseVersion(left), parseVersion(right)];
  if (!leftVersion || !rightVersion) return leftVersion ? 1 : rightVersion ? -1 : 0;
  return compareVersions(leftVersion, rightVersion) ?? (leftVersion.prefix < rightVersion.prefix ? 1 : -1);
};

const listReasons = (checks: readonly Check[], { primary, also, best }: Tallies): FilteredReason[] => {
  const reasons: FilteredReason[] = [];
  for (let place = 0; place < primary.length; place += 1) {
    const nodes = primary[place] ?? 0;
    const behind = also[place] ?? 0;
    if (nodes + behind === 0) continue;
    const check = checks[place >> 1] as Check;
    reasons.push(filteredReason(check, place % 2 === 1, nodes, behind, best[place]));
  }
  return reasons;
};

const filteredReason = (check: Check, never: boolean, nodes: number, also: number, best: Offer): FilteredReason => {
  const { side, unit } = REASONS[check.code];
  return {
    reason: check.code,
    side,
    never,
    nodes,
    also,
    ...(check.asked === undefined ? {} : { asked: check.asked }),
    ...(best === undefined ? {} : { best: formatValue(unit, best) }),
  };
};
