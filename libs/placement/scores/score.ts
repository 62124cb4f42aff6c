import type { Factor, FactorScore, RankedNode, Weights } from '#jobs';
import { byText } from '#kernel';
import { FACTORS } from './factors.js';
import type { Measure } from './measures.js';
import { lifted } from './preferences.js';

/** Millionths: finer differences are noise, and equal nodes must tie. */
const rounded = (value: number): number => Math.round(value * 1e6) / 1e6;

/** A factor's value as it enters the score. */
export const finalValue = (value: number, lift: number): number => rounded(lifted(value, lift));

/**
 * Σ weight × value ÷ Σ weight, in 0…1. Every factor is in the denominator, also one whose value is 0: a node is not better
 * for having nothing to show.
 */
export const weightedScore = (values: Readonly<Record<Factor, number>>, weights: Weights): number => {
  let sum = 0;
  let total = 0;
  for (const factor of FACTORS) {
    sum += weights[factor] * values[factor];
    total += weights[factor];
  }
  return total > 0 ? Math.round((sum / total) * 1e9) / 1e9 : 0;
};

/** One node's five measures as a decision records them. */
export const rankedNode = (
  nodeId: string,
  measures: Readonly<Record<Factor, Measure>>,
  lift: number,
  weights: Weights,
): RankedNode => {
  const factors = Object.fromEntries(
    FACTORS.map((factor): [Factor, FactorScore] => {
      const { raw, value } = measures[factor];
      return [factor, { raw: rounded(raw), value: finalValue(value, lift), weight: weights[factor] }];
    }),
  ) as Record<Factor, FactorScore>;
  const values = Object.fromEntries(FACTORS.map((factor) => [factor, factors[factor].value]));
  return { nodeId, score: weightedScore(values as Record<Factor, number>, weights), factors };
};

/**
 * What breaks a tie: a number that job and node give together, so that equal nodes share the jobs and the same state gives
 * the same answer. Mixes two hashes of 32 bits as MurmurHash3 finishes (Appleby, public domain).
 */
export const tieOf = (jobHash: number, nodeHash: number): number => {
  let mixed = Math.imul(jobHash ^ (nodeHash >>> 16), 0x85ebca6b) ^ nodeHash;
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
};

/** What puts eligible nodes in order. */
export interface Standpoint {
  readonly nodeId: string;
  /** A try failed here. */
  readonly late: boolean;
  readonly score: number;
  readonly tie: number;
}

/** Negative when the left node comes first: elsewhere first, then the score, then the tie's number, then the id. */
export const compareNodes = (left: Standpoint, right: Standpoint): number =>
  Number(left.late) - Number(right.late) ||
  right.score - left.score ||
  left.tie - right.tie ||
  byText(left.nodeId, right.nodeId);
