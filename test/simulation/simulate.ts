import { createHash } from 'node:crypto';
import type { RecordedEvent } from '#event-store';
import { violations } from './invariants.js';
import { DEFAULTS, Simulation } from './simulation.js';
import type { SimulationOptions } from './simulation.js';

export interface Outcome {
  readonly seed: number;
  /** What does not hold; empty when all is well. */
  readonly violations: readonly string[];
  /** sha256 over the whole log: the same seed gives the same. */
  readonly digest: string;
  readonly events: number;
  readonly runs: number;
  readonly refusedReports: number;
  readonly log: readonly RecordedEvent[];
}

/** Runs one seed to its rest and holds the invariants against what it left. */
export const simulate = async (
  seed: number,
  options: Partial<Omit<SimulationOptions, 'seed'>> = {},
): Promise<Outcome> => {
  const simulation = new Simulation({ ...DEFAULTS, ...options, seed });
  const rested = await simulation.run();
  const { observed, log } = simulation;
  const open = [...observed.unsettled(), ...observed.daemonsWaiting()].join('; ') || 'agents are busy';
  const restless = rested ? [] : [`it never came to rest: ${open}`];
  return {
    seed,
    violations: [...violations(log.events, observed), ...restless],
    digest: digestOf(log.events),
    events: log.events.length,
    ...observed.counts,
    log: log.events,
  };
};

const digestOf = (log: readonly RecordedEvent[]): string => {
  const hash = createHash('sha256');
  for (const { id, stream, revision, position, type, data, recordedAt } of log) {
    hash.update(JSON.stringify([id, stream, String(revision), String(position), type, data, recordedAt]));
  }
  return hash.digest('hex');
};
