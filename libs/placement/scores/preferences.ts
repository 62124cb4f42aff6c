import type { ClusterNode } from '../cluster/state.js';
import type { PreferenceDemand } from '../demand.js';
import { satisfies } from '../requirements/constraint.js';

/** The part of its way to 1 that a preference of weight 100 lifts a value. */
const FULL_LIFT = 0.5;

/**
 * How far a node's five values are lifted towards 1, in 0…1, because of the job's preferences that it meets. Each met
 * preference takes weight ÷ 200 of what is left: one of weight 100 halves the way, several never reach the end. A node's
 * lift comes from its own attributes alone, so a preference about one node leaves every other node's factors as they
 * were; raw measures are never touched, and whatever the job's weights, the score moves by the same part of its way.
 */
export const preferenceLift = (node: ClusterNode, preferences: readonly PreferenceDemand[]): number => {
  let left = 1;
  for (const { constraint, strength } of preferences) {
    if (satisfies(constraint, node.facts.attributes)) left *= 1 - FULL_LIFT * strength;
  }
  return 1 - left;
};

export const lifted = (value: number, lift: number): number => value + (1 - value) * lift;
