import { unreachable } from '#kernel';
import type { Decision, FilteredReason, Hold, RankedNode, Weights } from '#jobs';
import { reasonDefinition } from './filters/reasons.js';
import { FACTORS } from './scores/factors.js';
import { formatValue } from './units.js';

/**
 * A decision in plain language, one sentence or list item a line, the most important first. The same text goes to page,
 * API and command line; it is made from the recorded decision alone, so an old one reads as it did then.
 */
export const explainDecision = (decision: Decision): string[] => {
  switch (decision.outcome) {
    case 'placed':
      return [...placedLines(decision), ...funnelLines(decision, 'Left out')];
    case 'deferred':
      return [
        ...deferredLines(decision),
        ...placesInLine(decision),
        ...funnelLines(decision, 'Why not'),
        ...nearestMiss(decision),
        ...wakeLines(decision),
      ];
    case 'rejected':
      return [rejectedLine(decision), ...neverLines(decision), ...wakeLines(decision)];
    default:
      return unreachable(decision.outcome);
  }
};

const plural = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

const placedLines = (decision: Decision): string[] => {
  const [winner, runnerUp] = decision.ranking;
  if (!winner) return [`Placed on ${decision.winner ?? 'a node'}.`];
  if (decision.target !== undefined) return [ownNode(decision, winner)];
  const of = `${decision.eligible} eligible of ${plural(decision.considered, 'node')}`;
  const first = `Placed on ${winner.nodeId} with score ${winner.score.toFixed(3)}, the best of ${of}.`;
  const profile = `Profile ${decision.profile} (${decision.profileFrom}).`;
  const second = runnerUp ? comparison(winner, runnerUp, decision.weights) : onlyOne(winner);
  return [first, second, ...inputLines(winner, runnerUp), profile];
};

const OWN = 'which this part of the job belongs to';

const ownNode = ({ target = '' }: Decision, { score }: RankedNode): string =>
  `Placed on ${target}, ${OWN}, with score ${score.toFixed(3)}.`;

const inputLines = (winner: RankedNode, runnerUp: RankedNode | undefined): string[] => {
  if (!winner.inputs) return [];
  const other = runnerUp?.inputs ? `; runner-up ${runnerUp.nodeId} has ${inputsInWords(runnerUp.inputs)}` : '';
  return [`${winner.nodeId} has ${inputsInWords(winner.inputs)}${other}.`];
};

/** `2 of 3 inputs, about 1.2 GiB to fetch`. */
export const inputsInWords = ({ of, present, missing }: NonNullable<RankedNode['inputs']>): string =>
  `${present} of ${plural(of, 'input')}, ${missing > 0 ? `about ${formatValue('bytes', missing)}` : 'nothing'} to fetch`;

const onlyOne = ({ factors }: RankedNode): string =>
  `No other node was eligible. Its factors: ${FACTORS.map((factor) => `${factor} ${factors[factor].value.toFixed(2)}`).join(', ')}.`;

const comparison = (winner: RankedNode, runnerUp: RankedNode, weights: Weights): string => {
  const parts = differences(winner, runnerUp, weights);
  const because = parts.length > 0 ? `: ${parts.join(', ')}` : '';
  const margin = winner.score - runnerUp.score;
  if (margin < 0) {
    return `Runner-up ${runnerUp.nodeId} scores ${(-margin).toFixed(3)} more${because}; but a try failed there, and elsewhere comes first.`;
  }
  if (margin === 0)
    return `Runner-up ${runnerUp.nodeId} has the same score${because}; the tie was broken by a hash of job and node.`;
  return `Ahead of runner-up ${runnerUp.nodeId} by ${margin.toFixed(3)}${because}.`;
};

/** What each factor adds to the margin, weight included, the largest first; they add up to it. */
const differences = (winner: RankedNode, runnerUp: RankedNode, weights: Weights): string[] => {
  const total = FACTORS.reduce((sum, factor) => sum + weights[factor], 0);
  return FACTORS.map((factor) => {
    const gap = winner.factors[factor].value - runnerUp.factors[factor].value;
    return { factor, gain: (gap * weights[factor]) / total };
  })
    .filter(({ gain }) => Math.abs(gain) >= 0.0005)
    .sort((left, right) => Math.abs(right.gain) - Math.abs(left.gain))
    .map(({ factor, gain }) => `${factor} ${gain > 0 ? '+' : '−'}${Math.abs(gain).toFixed(3)}`);
};

const deferredLines = ({ considered, time, target }: Decision): string[] => {
  if (target !== undefined) return [`Waiting for ${target}, ${OWN}: at ${time} it could not take it.`];
  return considered === 0
    ? ['Waiting: no node has enrolled yet.']
    : [`Waiting: at ${time} none of ${plural(considered, 'node')} could take it, but not all are ruled out for ever.`];
};

const placesInLine = ({ lines = [] }: Decision): string[] =>
  lines.map(({ pool, hold }) => (hold ? expectedStart(pool, hold) : `In the line of pool ${pool}, behind the first.`));

const expectedStart = (pool: string, { nodeId, from }: Hold): string =>
  from === undefined
    ? `First in the line of pool ${pool}: ${nodeId} is kept for it; when that has room nobody knows, for lack of estimates.`
    : `First in the line of pool ${pool}: expected to start on ${nodeId} at ${from}.`;

const rejectedLine = ({ considered, target }: Decision): string =>
  target !== undefined
    ? `Cannot be placed: ${target}, ${OWN}, can never take it, unless the node or the job changes.`
    : `Cannot be placed: none of ${plural(considered, 'node')} can ever take it, unless the node or the job changes.`;

const funnelLines = ({ filtered }: Decision, title: string): string[] =>
  filtered.filter(({ nodes }) => nodes > 0).map((reason) => `${title}: ${reasonLine(reason)}`);

/** Every node has one of these at least, be it behind a reason that would pass; so the counts may add up to more. */
const neverLines = ({ filtered }: Decision): string[] =>
  filtered
    .filter(({ never }) => never)
    .map((reason) => `Why not: ${reasonLine({ ...reason, nodes: reason.nodes + reason.also, also: 0 })}`);

/** `2 nodes: not enough memory (asked 64 GiB, best 48 GiB; never)`. */
const reasonLine = (reason: FilteredReason): string => {
  const { nodes, also, never } = reason;
  const notes = [
    comparedValues(reason),
    never ? 'never' : 'not now',
    also > 0 ? `${also} more behind another reason` : '',
  ];
  return `${plural(nodes, 'node')}: ${described(reason)} (${notes.filter((note) => note !== '').join('; ')})`;
};

const described = ({ reason }: FilteredReason): string => reasonDefinition(reason)?.description ?? reason;

const comparedValues = ({ reason, asked, best }: FilteredReason): string =>
  [asked === undefined ? '' : `asked ${asked}`, best === undefined ? '' : `${bestOf(reason)} ${best}`]
    .filter((part) => part !== '')
    .join(', ');

/** Who is first in a line is no better than others. */
const bestOf = (reason: string): string => (reason.startsWith('pool.') ? 'first' : 'best');

/**
 * Reasons are in the order of the filters, so the last that may pass stopped the nodes that came furthest; unless these may
 * all be among the nodes that a "never" behind it rules out.
 */
const nearestMiss = ({ filtered, eligible, possible, target }: Decision): string[] => {
  if (target !== undefined) return [];
  const passing = filtered.filter(({ never, nodes }) => !never && nodes > 0);
  const stopped = passing.reduce((sum, { nodes }) => sum + nodes, 0);
  const ruledOut = possible === undefined ? 0 : stopped - (possible - eligible);
  const reason = passing.findLast(({ nodes }) => nodes > ruledOut);
  if (!reason) return [];
  const compared = comparedValues(reason);
  const lifted = reasonDefinition(reason.reason)?.lifted;
  return [
    `Nearest miss: ${plural(reason.nodes, 'node')} came as far as "${described(reason)}"` +
      `${compared === '' ? '' : ` (${compared})`}${lifted === undefined ? '' : `; passes when ${lifted}`}.`,
  ];
};

const wakeLines = ({ outcome, wakesOn, wakesAt }: Decision): string[] => {
  const lines = wakesAt === undefined ? [] : [`Looked at again at ${wakesAt} at the latest.`];
  if (wakesOn.length === 0) return lines;
  const events = wakesOn.join(', ');
  return [...lines, outcome === 'rejected' ? `Only ${events} can change that.` : `Looked at again on: ${events}.`];
};
