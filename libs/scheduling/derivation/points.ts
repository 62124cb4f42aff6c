import type { EventStore, RecordedEvent } from '#event-store';
import { JOB_STREAM_PREFIX, jobStream } from '#jobs';
import { NODE_STREAM_PREFIX } from '#nodes';
import { PROJECT_STREAM_PREFIX } from '#projects';
import { DecisionWalk, recordedBy } from './walk.js';
import type { DerivationPoint, Recorded } from './walk.js';

/** Which decisions, by the positions of their own events. */
export interface DecisionRange {
  /** Only of this job. */
  readonly jobId?: string | undefined;
  /** Exclusive. */
  readonly after?: bigint | undefined;
  readonly upTo?: bigint | undefined;
}

/** Told of each event that is read; a promise is waited for, so that other work has its turn. */
export type Seen = (position: bigint) => Promise<void> | undefined;

const FILTER = { streamPrefixes: [JOB_STREAM_PREFIX, NODE_STREAM_PREFIX, PROJECT_STREAM_PREFIX] };
const LEDGERS = { streamPrefixes: [NODE_STREAM_PREFIX] };

/**
 * Every decision, and every change of a job's nodes, of the range with the state that it was made from, in the order of the positions that they looked from. The
 * log is read once from its start, whatever the range, for the state is a fold of all of it; memory is what the cluster
 * takes. Decisions recorded unusually late are brought in a second reading.
 */
export async function* decisionPoints(
  store: EventStore,
  { jobId, after = -1n, upTo }: DecisionRange,
  seen: Seen = () => undefined,
): AsyncGenerator<DerivationPoint> {
  const wanted = ({ position }: Recorded): boolean => position > after && (upTo === undefined || position <= upTo);
  if (jobId !== undefined) {
    const known = (await recordedOf(store, jobId)).filter(wanted);
    yield* pointsOf(store, known, seen);
    return;
  }
  const walk = new DecisionWalk(wanted);
  for await (const event of store.readAll({ filter: FILTER, ...(upTo !== undefined && { upTo }) })) {
    yield* walk.push(event);
    await seen(event.position);
  }
  yield* walk.end();
  yield* pointsOf(store, walk.late, seen);
}

const recordedOf = async (store: EventStore, jobId: string): Promise<Recorded[]> => {
  const found: Recorded[] = [];
  for await (const event of store.readStream(jobStream(jobId))) {
    const recorded = recordedBy(event);
    if (recorded) found.push(recorded);
  }
  return found;
};

/** The same for decisions that are known beforehand; the log is read only as far as the last of them looked. */
export async function* pointsOf(
  store: EventStore,
  decisions: readonly Recorded[],
  seen: Seen = () => undefined,
): AsyncGenerator<DerivationPoint> {
  if (decisions.length === 0) return;
  const walk = new DecisionWalk(() => false, 0);
  for (const recorded of decisions) walk.expect(recorded);
  for await (const claim of claimsOf(store, decisions)) walk.claim(claim);
  for await (const event of store.readAll({ filter: FILTER })) {
    yield* walk.push(event);
    if (walk.pending === 0) return;
    await seen(event.position);
  }
  yield* walk.end();
}

/** An assumption came true, or the decision would not have been recorded: its claim follows in a node's stream. */
async function* claimsOf(store: EventStore, decisions: readonly Recorded[]): AsyncGenerator<RecordedEvent> {
  const open = new Set(decisions.flatMap((one) => ('decision' in one ? one.decision.assumed : [])));
  if (open.size === 0) return;
  for await (const event of store.readAll({ filter: LEDGERS })) {
    const { executionId = '' } = event.data as { executionId?: string };
    if (event.type === 'CapacityReserved' && open.delete(executionId)) yield event;
    if (open.size === 0) return;
  }
}
