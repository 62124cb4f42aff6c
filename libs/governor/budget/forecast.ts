import type { Millis } from '#kernel';
import type { Contract } from '#nodes';
import type { Demand } from './demand.js';
import { without } from './machine.js';
import type { Machine } from './machine.js';
import { verdict } from './verdict.js';

/** A contract that is expected to be given back. */
export interface ExpectedRelease {
  readonly at: Millis;
  readonly contract: Contract;
}

/** When a demand is expected to be granted, and with how many items (0 without batches). */
export interface Forecast {
  readonly at: Millis;
  readonly items: number;
}

/**
 * The earliest moment at which the demand would be granted if nothing else were admitted and every release came as
 * expected; undefined when they do not free enough. What is overdue is expected now.
 */
export const forecast = (
  demand: Demand,
  machine: Machine,
  releases: readonly ExpectedRelease[],
  now: Millis,
): Forecast | undefined => {
  const inOrder = [...releases].sort((left, right) => left.at - right.at);
  let state = machine;
  for (let index = 0, at = now; ; index += 1) {
    const next = inOrder[index];
    // All that end at one moment are freed before the look.
    if (next && next.at <= at) state = without(state, next.contract);
    else {
      const answer = verdict(demand, state);
      if (answer.kind === 'REJECT') return undefined;
      if (answer.kind !== 'WAIT') return { at, items: answer.contract.batchSize ?? 0 };
      if (!next) return undefined;
      at = next.at;
      state = without(state, next.contract);
    }
  }
};
