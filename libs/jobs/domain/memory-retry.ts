import type { JobSpec } from './job-spec.js';
import type { Ending } from './state.js';

/* Tries that ran out of memory, and how much more the next one asks for. */

/** The code, within the class `resource`, of a task that ran out of memory. */
export const OUT_OF_MEMORY = 'out-of-memory';

export const isShortage = (ending: Pick<Ending, 'class' | 'code'>): boolean =>
  ending.class === 'resource' && ending.code === OUT_OF_MEMORY;

/**
 * Bytes that a partition asks for after `shortages` of its tries ran out of memory: `resources.memory` × `factor` for each of
 * them, rounded up, and never over `max`. What a batch needs for its items comes on top, as ever.
 */
export const memoryAfter = ({ resources, retry }: Pick<JobSpec, 'resources' | 'retry'>, shortages: number): number => {
  if (!retry.memory) return resources.memory;
  const { factor, max } = retry.memory;
  let memory = resources.memory;
  for (let count = 0; count < shortages && memory < max; count += 1) memory *= factor;
  return shortages > 0 ? Math.min(max, Math.ceil(memory)) : memory;
};
