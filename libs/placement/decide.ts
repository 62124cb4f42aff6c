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
import type { PlacementRequest } from './request.js';

/** Changes whenever the same state and request may give another node than before. */
export const ALGORITHM = 'placement/7';

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
  const look = lookAt(request, cluster, toMillis(context.time));
  const best = look.first(RANKING_KEPT);
  const winner = best[0];
  const contract = winner && chooseContract(winner, demandOf(request.spec), cluster.mix);
  const target = request.target === undefined ? {} : { target: request.target };
  const base = { ...baseOf(cluster, context, look), ...target, ranking: best.map((node) => look.ranked(node)) };
  if (!winner || !contract) return { decision: { ...base, ...waiting(look) } };
  return { decision: { ...base, ...placed(base.ranking, contract) }, nodeId: winner.id, contract };
};

type Base = Omit<
  Decision,
  'ranking' | 'outcome' | 'wakesOn' | 'winner' | 'runnerUp' | 'margin' | 'contract' | 'wakesAt'
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
const waiting = ({ considered, possible, filtered, wakesAt }: Look) => {
  const ruledOut = considered > 0 && possible === 0;
  return {
    outcome: (ruledOut ? 'rejected' : 'deferred') as DecisionOutcome,
    wakesOn: wakesOnOf(ruledOut ? filtered.filter(({ never }) => never) : filtered),
    ...(Number.isFinite(wakesAt) && { wakesAt: toInstant(wakesAt) }),
  };
};

/** Every type of event that can ever help a job which waits. */
export const WAKING_EVENTS: ReadonlySet<string> = new Set([
  'NodeEnrolled',
  ...Object.values(REASONS).flatMap(({ wakesOn }): readonly string[] => wakesOn),
]);

/** A node that enrols is new to every reason. */
const wakesOnOf = (filtered: readonly FilteredReason[]): string[] => {
  const types = new Set<string>(['NodeEnrolled']);
  for (const { reason, never } of filtered) {
    for (const type of eventsThatLift(reason, never)) types.add(type);
  }
  return [...types].sort();
};
