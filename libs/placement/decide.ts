import { toInstant, toMillis } from '#kernel';
import type { Instant } from '#kernel';
import type { Decision, DecisionOutcome, FilteredReason, RankedNode } from '#jobs';
import type { Contract } from '#nodes';
import type { ClusterState } from './cluster/state.js';
import { chooseContract } from './contract.js';
import { demandOf } from './demand.js';
import { funnel } from './filters/funnel.js';
import type { Funnel } from './filters/funnel.js';
import { reasonDefinition } from './filters/reasons.js';
import { checksFor } from './filters/stages.js';
import type { PlacementRequest } from './request.js';
import { leaders, rankedNode, scoreboard } from './scores/score.js';
import type { Scoreboard } from './scores/score.js';

/** Changes whenever the same state and request may give another node than before. */
export const ALGORITHM = 'placement/1';

/** How many of the ranked nodes a decision records. */
export const RANKING_KEPT = 10;

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
 * Decides where one partition goes. Pure: the same request, cluster, time and weights give the same decision, bit for bit.
 *
 * - `placed`: the best of the eligible nodes, with its contract;
 * - `deferred`: none now, but one that is there may take it later; or no node has enrolled yet;
 * - `rejected`: every enrolled node has a reason that only a change of the node or of the job can lift.
 */
export const decide = (request: PlacementRequest, cluster: ClusterState, context: DecisionContext): Placement => {
  const at = toMillis(context.time);
  const nodes = funnel(checksFor(request, cluster), cluster.nodes.values(), at);
  const board = scoreboard(request, nodes.eligible, at);
  const best = leaders(board, RANKING_KEPT);
  const winner = board.nodes[best[0] ?? -1];
  const contract = winner && chooseContract(winner, demandOf(request.spec));
  const base = { ...baseOf(cluster, context, nodes, board), ranking: best.map((place) => rankedNode(board, place)) };
  if (!winner || !contract) return { decision: { ...base, ...waiting(nodes) } };
  return { decision: { ...base, ...placed(base.ranking, contract) }, nodeId: winner.id, contract };
};

type Base = Omit<
  Decision,
  'ranking' | 'outcome' | 'wakesOn' | 'winner' | 'runnerUp' | 'margin' | 'contract' | 'wakesAt'
>;

const baseOf = (cluster: ClusterState, context: DecisionContext, nodes: Funnel, board: Scoreboard): Base => ({
  number: context.number,
  evaluationId: context.evaluationId,
  trigger: context.trigger,
  partition: context.partition,
  position: String(cluster.position),
  time: context.time,
  assumed: [...cluster.assumed.keys()].sort(),
  versions: { algorithm: ALGORITHM, weights: board.profile.version },
  profile: board.profile.name,
  profileFrom: board.profile.from,
  weights: board.profile.weights,
  considered: nodes.considered,
  eligible: nodes.eligible.length,
  filtered: nodes.filtered,
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

const waiting = ({ considered, possible, filtered, wakesAt }: Funnel) => ({
  outcome: (considered > 0 && possible === 0 ? 'rejected' : 'deferred') as DecisionOutcome,
  wakesOn: wakesOnOf(filtered),
  ...(Number.isFinite(wakesAt) && { wakesAt: toInstant(wakesAt) }),
});

/** What can lift a "never": nothing that merely frees a node. */
const LASTING: ReadonlySet<string> = new Set(['NodeInventoryChanged', 'NodePolicyChanged', 'ProjectConfigured']);

/** A node that enrols is new to every reason. */
const wakesOnOf = (filtered: readonly FilteredReason[]): string[] => {
  const types = new Set<string>(['NodeEnrolled']);
  for (const { reason, never } of filtered) {
    for (const type of reasonDefinition(reason)?.wakesOn ?? []) if (!never || LASTING.has(type)) types.add(type);
  }
  return [...types].sort();
};
