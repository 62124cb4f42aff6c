import { formatBytes } from '#placement';
import type { Decision } from '../../domain/decision.js';
import type { JobEvent } from '../../domain/events.js';

/** Why a decision asked for more memory than its job does, from the job's events in their order; none for one that did not. */
export const moreMemoryLine = (events: readonly JobEvent[], { number, partition }: Decision): string[] => {
  let asked: number | undefined;
  let memory: number | undefined;
  let shortages = 0;
  for (const event of events) {
    if (event.type === 'PlacementDecided' && event.data.number === number) break;
    if (event.type === 'JobSubmitted') asked = event.data.spec.resources.memory;
    if (event.type !== 'JobRequeued' || event.data.partition !== partition || event.data.memory === undefined) continue;
    memory = event.data.memory;
    shortages += 1;
  }
  if (memory === undefined || asked === undefined) return [];
  const tries = shortages === 1 ? 'one try' : `${shortages} tries`;
  return [`Asks for ${formatBytes(memory)} of memory instead of ${formatBytes(asked)}: ${tries} ran out of it.`];
};
