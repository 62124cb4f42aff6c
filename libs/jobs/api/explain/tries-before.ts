import { formatBytes } from '#placement';
import type { Decision } from '../../domain/decision.js';
import type { JobEvent, JobRequeued } from '../../domain/events.js';

/** What the tries before a decision made of it, from the job's events in their order; none where they changed nothing. */
export const triesBeforeLines = (events: readonly JobEvent[], { number, partition }: Decision): string[] => {
  const before = events.slice(
    0,
    events.findIndex((event) => isDecision(event, number)),
  );
  const requeued = before.flatMap((event) =>
    event.type === 'JobRequeued' && event.data.partition === partition ? [event.data] : [],
  );
  return [...moreMemory(before, requeued), ...ownFault(requeued)];
};

const isDecision = (event: JobEvent, number: number): boolean =>
  event.type === 'PlacementDecided' && event.data.number === number;

type Requeued = readonly JobRequeued['data'][];

const moreMemory = (before: readonly JobEvent[], requeued: Requeued): string[] => {
  const [submitted] = before;
  const short = requeued.flatMap(({ memory }) => memory ?? []);
  const memory = short.at(-1);
  if (memory === undefined || submitted?.type !== 'JobSubmitted') return [];
  const asked = submitted.data.spec.resources.memory;
  const tries = short.length === 1 ? 'one try' : `${short.length} tries`;
  return [`Asks for ${formatBytes(memory)} of memory instead of ${formatBytes(asked)}: ${tries} ran out of it.`];
};

const ownFault = (requeued: Requeued): string[] => {
  const seen = new Map(requeued.flatMap(({ cause, seenOn }) => (seenOn === undefined ? [] : [[cause, seenOn]])));
  return [...seen].map(
    ([cause, nodes]) =>
      `Tries failed with ${cause} on ${nodes} nodes: that counts against the job, and no node is avoided or charged for it.`,
  );
};
