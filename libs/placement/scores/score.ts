import type { Factor, FactorScore, RankedNode, Weights } from '#jobs';
import type { InputsThere } from '../inputs.js';
import { FACTORS } from './factors.js';
import type { Measure } from './factors.js';
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

/** One node's five measures as a decision records them, and what it has of the inputs if there are any that count. */
export const rankedNode = (
  nodeId: string,
  measures: Readonly<Record<Factor, Measure>>,
  { lift, inputs }: { readonly lift: number; readonly inputs: InputsThere },
  weights: Weights,
): RankedNode => {
  const scored = (factor: Factor): FactorScore => {
    const { raw, value } = measures[factor];
    return { raw: rounded(raw), value: finalValue(value, lift), weight: weights[factor] };
  };
  const factors = {
    resources: scored('resources'),
    reliability: scored('reliability'),
    availability: scored('availability'),
    queue: scored('queue'),
    cost: scored('cost'),
  };
  return { nodeId, score: scoreOf(factors, weights), factors, ...(inputs.of > 0 && { inputs }) };
};

const scoreOf = (factors: Readonly<Record<Factor, FactorScore>>, weights: Weights): number => {
  const { resources, reliability, availability, queue, cost } = factors;
  return weightedScore(
    {
      resources: resources.value,
      reliability: reliability.value,
      availability: availability.value,
      queue: queue.value,
      cost: cost.value,
    },
    weights,
  );
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
