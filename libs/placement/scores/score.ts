import type { Factor, FactorScore, RankedNode, Weights } from '#jobs';
import type { Millis } from '#kernel';
import { hash32, byText } from '#kernel';
import type { ClusterNode } from '../cluster/state.js';
import { itemsOn } from '../contract.js';
import { demandOf } from '../demand.js';
import { priceOf } from '../price.js';
import type { PlacementRequest } from '../request.js';
import { availability } from './availability.js';
import { costScale, costValue } from './cost.js';
import type { CostScale } from './cost.js';
import { lifted, preferenceLift } from './preferences.js';
import { FACTORS } from './factors.js';
import { profileOf } from './profiles.js';
import type { ChosenProfile } from './profiles.js';
import { queueValue } from './queue.js';
import { reliability, reliabilityValue } from './reliability.js';
import { fullness, resourcesValue } from './resources.js';

const COUNT = FACTORS.length;

/** Millionths: finer differences are noise, and equal nodes must tie. */
const rounded = (value: number): number => Math.round(value * 1e6) / 1e6;

/**
 * Σ weight × value ÷ Σ weight, in 0…1. Every factor is in the denominator, also one whose value is 0: a node is not better
 * for having nothing to show.
 */
export const weightedScore = (values: Readonly<Record<Factor, number>>, weights: Weights): number =>
  combine(
    FACTORS.map((factor) => values[factor]),
    0,
    FACTORS.map((factor) => weights[factor]),
  );

/** The same over a row of a column store. */
const combine = (values: ArrayLike<number>, from: number, weights: readonly number[]): number => {
  let sum = 0;
  let total = 0;
  for (let factor = 0; factor < COUNT; factor += 1) {
    const weight = weights[factor] ?? 0;
    sum += weight * (values[from + factor] ?? 0);
    total += weight;
  }
  return total > 0 ? Math.round((sum / total) * 1e9) / 1e9 : 0;
};

/** The factors of all eligible nodes in columns, and what puts them in order. */
export interface Scoreboard {
  readonly nodes: readonly ClusterNode[];
  readonly profile: ChosenProfile;
  /** `COUNT` numbers for each node, in the order of `FACTORS`. */
  readonly raw: Float64Array;
  readonly values: Float64Array;
  readonly scores: Float64Array;
  readonly lifts: Float64Array;
  /** 1 for a node where a try failed. */
  readonly late: Uint8Array;
  /** Of job and node. */
  readonly hashes: Uint32Array;
}

/** Scores what passed every filter. The result does not depend on the order of the nodes. */
export const scoreboard = (request: PlacementRequest, nodes: readonly ClusterNode[], at: Millis): Scoreboard => {
  const { jobId, avoid } = request;
  const board: Scoreboard = {
    nodes,
    profile: profileOf(request.spec),
    raw: new Float64Array(nodes.length * COUNT),
    values: new Float64Array(nodes.length * COUNT),
    scores: new Float64Array(nodes.length),
    lifts: new Float64Array(nodes.length),
    late: Uint8Array.from(nodes, ({ id }) => (avoid.has(id) ? 1 : 0)),
    hashes: Uint32Array.from(nodes, ({ id }) => hash32(jobId + id)),
  };
  const costs = costsOf(request, nodes);
  const scale = costScale(costs);
  const weights = FACTORS.map((factor) => board.profile.weights[factor]);
  for (let place = 0; place < nodes.length; place += 1) {
    measure(board, place, request, at, costs[place] ?? 0, scale);
    board.scores[place] = combine(board.values, place * COUNT, weights);
  }
  return board;
};

const costsOf = (request: PlacementRequest, nodes: readonly ClusterNode[]): Float64Array => {
  const demand = demandOf(request.spec);
  const hours = (request.spec.estimate.duration ?? 3600) / 3600;
  const costs = new Float64Array(nodes.length);
  nodes.forEach((node, place) => {
    const { price } = node.policy;
    if (price) costs[place] = priceOf(price, demand, itemsOn(node, demand)) * hours;
  });
  return costs;
};

const measure = (
  board: Scoreboard,
  place: number,
  request: PlacementRequest,
  at: Millis,
  cost: number,
  scale: CostScale,
): void => {
  const node = board.nodes[place] as ClusterNode;
  const { spec } = request;
  const demand = demandOf(spec);
  const lift = preferenceLift(node, demand.preferences);
  const filled = fullness(node, demand, itemsOn(node, demand));
  const proven = reliability(node, spec.application?.name, at);
  const present = availability(node, spec.estimate.duration, at);
  const maxCost = spec.estimate.duration === undefined ? undefined : spec.budget?.maxCost;
  board.lifts[place] = lift;
  enter(board, place, 0, filled, resourcesValue(filled, node, board.profile.strategy, request));
  enter(board, place, 1, proven, reliabilityValue(proven, node, spec.application?.name));
  enter(board, place, 2, present, present);
  enter(board, place, 3, node.waiting, queueValue(node, spec.inputs));
  enter(board, place, 4, cost, costValue(cost, scale, maxCost));
};

const enter = (board: Scoreboard, place: number, factor: number, raw: number, value: number): void => {
  board.raw[place * COUNT + factor] = rounded(raw);
  board.values[place * COUNT + factor] = rounded(lifted(value, board.lifts[place] ?? 0));
};

/** Negative when the left node comes first: elsewhere first, then the score, then the hash of job and node, then the id. */
const compare = ({ nodes, late, scores, hashes }: Scoreboard, left: number, right: number): number =>
  (late[left] ?? 0) - (late[right] ?? 0) ||
  (scores[right] ?? 0) - (scores[left] ?? 0) ||
  (hashes[left] ?? 0) - (hashes[right] ?? 0) ||
  byText(nodes[left]?.id ?? '', nodes[right]?.id ?? '');

/** The first `count` nodes of the order, as places on the board. One pass, for the rest is never asked for. */
export const leaders = (board: Scoreboard, count: number): number[] => {
  const best: number[] = [];
  for (let place = 0; place < board.nodes.length; place += 1) {
    const last = best[count - 1];
    if (last !== undefined && compare(board, place, last) > 0) continue;
    let at = best.length;
    while (at > 0 && compare(board, place, best[at - 1] ?? place) < 0) at -= 1;
    best.splice(at, 0, place);
    if (best.length > count) best.pop();
  }
  return best;
};

/** How many nodes come before the one at this place. */
export const before = (board: Scoreboard, place: number): number => {
  let count = 0;
  for (let other = 0; other < board.nodes.length; other += 1) if (compare(board, other, place) < 0) count += 1;
  return count;
};

/** One node of the board as a decision records it. */
export const rankedNode = (board: Scoreboard, place: number): RankedNode => ({
  nodeId: board.nodes[place]?.id ?? '',
  score: board.scores[place] ?? 0,
  factors: Object.fromEntries(
    FACTORS.map((factor, index): [Factor, FactorScore] => [
      factor,
      {
        raw: board.raw[place * COUNT + index] ?? 0,
        value: board.values[place * COUNT + index] ?? 0,
        weight: board.profile.weights[factor],
      },
    ]),
  ) as Record<Factor, FactorScore>,
});
