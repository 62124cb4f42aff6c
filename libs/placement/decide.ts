import { toInstant, toMillis } from '#kernel';
import type { Instant } from '#kernel';
import type { Decision, DecisionOutcome, FilteredReason, RankedNode } from '#jobs';
import type { Contract } from '#nodes';
import { lookAt } from './board/look.js';
import type { Look } from './board/answer.js';
import type { ClusterState } from './cluster/state.js';
import { chooseContract } from './contract.js';
import { demandOf } from './demand.js';
import { eventsThatLift, REASONS } from './filters/reasons.js';
import { linesOf } from './line.js';
import type { Lines } from './line.js';
import type { PlacementRequest } from './request.js';

/** Changes whenever the same state and request may give another node than before. */
export const ALGORITHM = 'placement/8';

/** How many of the ranked nodes a decision records. */
export const RANKING_KEPT = 5;

/** What is not in the cluster: the number and cause of the decision, and the time at which it is made. */
export interface DecisionContext {
  readonly number: number;
  readonly evaluationId: string;
  readonly trigger: string;
  readonly partition: number;
  readonly time: Instant;
}

export interface Placement {
  readonly decision: Decision;
  /** Both present when the outcome is `placed`. */
  readonly nodeId?: string;
  readonly contract?: Contract;
}

/**
 * Decides where one partition goes; of one with a target, whether it goes there now. Pure: the same request, cluster, time and weights give the same decision, bit for bit.
 *
 * - `placed`: the best of the eligible nodes, with its contract;
 * - `deferred`: none now, but one that is there may take it later; or no node has enrolled yet;
 * - `rejected`: every enrolled node has a reason that only a change of the node or of the job can lift.
 */
export const decide = (request: PlacementRequest, cluster: ClusterState, context: DecisionContext): Placement => {
  const at = toMillis(context.time);
  const look = lookAt(request, cluster, at);
  const best = look.first(RANKING_KEPT);
  const winner = best[0];
  const contract = winner && chooseContract(winner, demandOf(request.spec), cluster.mix);
  const target = request.target === undefined ? {} : { target: request.target };
  const base = { ...baseOf(cluster, context, look), ...target, ranking: best.map((node) => look.ranked(node)) };
  if (!winner || !contract) return { decision: { ...base, ...waiting(look, linesOf(request, cluster, look, at)) } };
  return { decision: { ...base, ...placed(base.ranking, contract) }, nodeId: winner.id, contract };
};

type Base = Omit<
  Decision,
  'ranking' | 'outcome' | 'lines' | 'wakesOn' | 'winner' | 'runnerUp' | 'margin' | 'contract' | 'wakesAt'
>;

const baseOf = (cluster: ClusterState, context: DecisionContext, { profile, ...look }: Look): Base => ({
  number: context.number,
  evaluationId: context.evaluationId,
  trigger: context.trigger,
  partition: context.partition,
  position: String(cluster.position),
  time: context.time,
  assumed: [...cluster.assumed.keys()].sort(),
  versions: { algorithm: ALGORITHM, weights: profile.version },
  profile: profile.name,
  profileFrom: profile.from,
  weights: profile.weights,
  considered: look.considered,
  possible: look.possible,
  eligible: look.eligible,
  filtered: look.filtered,
});

/** Behind a node that is avoided the runner-up may have the lower place and the higher score; the margin is then 0. */
const placed = (ranking: readonly RankedNode[], contract: Contract) => {
  const [winner, runnerUp] = ranking;
  return {
    outcome: 'placed' as DecisionOutcome,
    winner: winner?.nodeId ?? '',
    ...(runnerUp && { runnerUp: runnerUp.nodeId, margin: marginOf(winner, runnerUp) }),
    contract,
    wakesOn: [],
  };
};

const marginOf = (winner: RankedNode | undefined, runnerUp: RankedNode): number =>
  Math.max(0, Math.round(((winner?.score ?? 0) - runnerUp.score) * 1e9) / 1e9);

/** While each node says "never", only what lifts that can help: what merely frees a node cannot. */
const waiting = ({ considered, possible, filtered, ...look }: Look, { lines, isFirst, lasts }: Lines) => {
  const ruledOut = considered > 0 && possible === 0;
  const wakesAt = Math.min(look.wakesAt, lasts);
  return {
    outcome: (ruledOut ? 'rejected' : 'deferred') as DecisionOutcome,
    ...(lines.length > 0 && { lines }),
    wakesOn: wakesOnOf(ruledOut ? filtered.filter(({ never }) => never) : filtered, isFirst ? LEAVES_LINE : []),
    ...(Number.isFinite(wakesAt) && { wakesAt: toInstant(wakesAt) }),
  };
};

/**
 * After these the first in line may wait for no node of its pool any more, or start on another one first: those behind it wait
 * for it to be looked at.
 */
const LEAVES_LINE = [
  'NodeWentOffline',
  'NodeWentOnline',
  'NodeCordoned',
  'NodeUncordoned',
  'NodeDrainStarted',
  'NodePolicyChanged',
  'NodeInventoryChanged',
  'NodePoolChanged',
  'ProjectConfigured',
];

/** Every type of event that can ever help a job which waits. */
export const WAKING_EVENTS: ReadonlySet<string> = new Set([
  'NodeEnrolled',
  ...LEAVES_LINE,
  ...Object.values(REASONS).flatMap(({ wakesOn }): readonly string[] => wakesOn),
]);

/** A node that enrols is new to every reason. */
const wakesOnOf = (filtered: readonly FilteredReason[], also: readonly string[]): string[] => {
  const types = new Set<string>(['NodeEnrolled', ...also]);
  for (const { reason, never } of filtered) {
    for (const type of eventsThatLift(reason, never)) types.add(type);
  }
  return [...types].sort();
};
