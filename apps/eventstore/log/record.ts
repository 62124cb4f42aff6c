import type { Millis } from '#kernel';

/*
 * Positions and revisions inside this process are plain numbers: both are handed out here, `nextPosition` refuses to
 * pass 2⁵³−1, and a stream grows by one at a time. Numbers that clients send are read as bigint and clamped
 * (`clampToLog`) before they meet these. At the wire they are uint64 again.
 */

/** The revision that clients see for the event that tombstones a stream: the largest signed 64-bit number. */
export const TOMBSTONE_REVISION = 9_223_372_036_854_775_807n;

/** How the log stores the revision of a tombstone: the number above fits neither a JS number nor a useful index. */
export const STORED_TOMBSTONE = -1;

/** The revision of a stream without events, where a head revision is expected. */
export const NO_EVENTS = -1;

export const LINK_TYPE = '$>';
export const METADATA_TYPE = '$metadata';
export const TOMBSTONE_TYPE = '$streamDeleted';

/** An event as a client proposes it. `data` and `metadata` are opaque bytes; `json` only says how to show them. */
export interface ProposedEvent {
  /** UUID in lower case with hyphens. */
  readonly id: string;
  readonly type: string;
  readonly json: boolean;
  readonly data: Uint8Array;
  readonly metadata: Uint8Array;
}

/** An event as it stands in the log. Immutable once its commit is on disk. */
export interface RecordedEvent extends ProposedEvent {
  /** Place in `$all`: rising, never consecutive, so that code which adds one to it fails early. */
  readonly position: number;
  readonly stream: string;
  /** Place in the stream, from 0 without gaps; `STORED_TOMBSTONE` for the event that ends it for good. */
  readonly revision: number;
  readonly created: Millis;
}

/** What a filter needs to know of an event, without its bytes. */
export type EventHeading = Pick<RecordedEvent, 'position' | 'stream' | 'type'>;

const RECORD_OVERHEAD = 96;
const FIRST_POSITION = 1_536;

/** The place of the first event in an empty log; above 0, which means "from the start" to every client. */
export const firstPosition = (): number => FIRST_POSITION;

/** The position after a record, as if the log were a file of records laid end to end. */
export const nextPosition = (event: Pick<RecordedEvent, 'position' | 'type' | 'data' | 'metadata'>): number => {
  const next = event.position + RECORD_OVERHEAD + event.type.length + event.data.length + event.metadata.length;
  if (next > Number.MAX_SAFE_INTEGER) throw new Error('the log has no positions left');
  return next;
};

/** Brings a client's 64-bit number into the range of this log; whatever lies beyond is simply past every event. */
export const clampToLog = (value: bigint): number =>
  value > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(value);
