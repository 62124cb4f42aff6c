import { NO_EVENTS } from './record.js';
import type { ProposedEvent } from './record.js';

/** What an appender believes about the stream. `exact` is the revision of the last event that it knows. */
export type ExpectedRevision =
  | { readonly kind: 'any' }
  | { readonly kind: 'no-stream' }
  | { readonly kind: 'stream-exists' }
  | { readonly kind: 'exact'; readonly revision: bigint };

/** What stands in the log for a stream at the moment of the decision. */
export interface StreamHead {
  /** Revision of the last event, `NO_EVENTS` if there never was one. Kept when the stream is deleted softly. */
  readonly head: number;
  readonly tombstoned: boolean;
  readonly softDeleted: boolean;
  /** The stream's metadata stream has an event. */
  readonly hasMetadata: boolean;
}

/** Looks event ids of one stream up. */
export interface IdLookup {
  /** The revision at which this id was stored lately, if the bounded memory still has it. */
  recent(id: string): number | undefined;
  /** The id that is really stored at a revision of the stream. */
  stored(revision: number): string | undefined;
}

export type AppendVerdict =
  | { readonly kind: 'append'; readonly undelete: boolean }
  | { readonly kind: 'already-stored'; readonly first: number; readonly last: number }
  | { readonly kind: 'wrong-revision'; readonly current: number }
  | { readonly kind: 'deleted' };

/**
 * Decides an append as EventStoreDB does (versions 21 to 24):
 *
 * - ANY and STREAM_EXISTS recognise a retry only by ids that are still in memory;
 * - an explicit revision (NO_STREAM counts as −1) below the head is compared with the ids stored there, so it always
 *   recognises a retry; one equal to the head never looks at ids;
 * - a batch of which only a first part is stored is refused with the current revision, even under ANY;
 * - a stream deleted softly takes ANY, NO_STREAM and its old head, and refuses STREAM_EXISTS as deleted.
 */
export const judgeAppend = (
  expected: ExpectedRevision,
  stream: StreamHead,
  events: readonly ProposedEvent[],
  ids: IdLookup,
): AppendVerdict => {
  if (stream.tombstoned) return { kind: 'deleted' };
  switch (expected.kind) {
    case 'stream-exists':
      if (stream.softDeleted) return { kind: 'deleted' };
      if (stream.head === NO_EVENTS && !stream.hasMetadata) return wrong(stream);
      return judgeByMemory(stream, events, ids);
    case 'any':
      return judgeByMemory(stream, events, ids);
    case 'no-stream':
      return judgeByRevision(-1n, stream, events, ids);
    case 'exact':
      return judgeByRevision(expected.revision, stream, events, ids);
  }
};

const wrong = (stream: StreamHead): AppendVerdict => ({ kind: 'wrong-revision', current: stream.head });

const judgeByMemory = (stream: StreamHead, events: readonly ProposedEvent[], ids: IdLookup): AppendVerdict => {
  const first = events[0] && ids.recent(events[0].id);
  if (first === undefined) return { kind: 'append', undelete: stream.softDeleted };
  let last = first;
  for (const event of events) {
    const revision = ids.recent(event.id);
    if (revision === undefined) return wrong(stream);
    last = revision;
  }
  return { kind: 'already-stored', first, last };
};

const judgeByRevision = (
  expected: bigint,
  stream: StreamHead,
  events: readonly ProposedEvent[],
  ids: IdLookup,
): AppendVerdict => {
  const head = BigInt(stream.head);
  if (expected > head) return wrong(stream);
  if (expected === head) return { kind: 'append', undelete: stream.softDeleted };
  if (events.length === 0) return wrong(stream);
  const first = Number(expected) + 1;
  for (const [index, event] of events.entries()) {
    if (ids.stored(first + index) === event.id) continue;
    if (index === 0 && expected === -1n && stream.softDeleted) return { kind: 'append', undelete: true };
    return wrong(stream);
  }
  return { kind: 'already-stored', first, last: first + events.length - 1 };
};
