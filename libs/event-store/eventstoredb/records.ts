import type { ReadResp } from '@eventstore/db-client/generated/streams_pb.js';
import type { EventMetadata, RecordedEvent } from '../port.js';

/** What old servers answer for a position that they do not know: 2⁶⁴−1. */
const NO_POSITION = 2n ** 64n - 1n;

const TICKS_PER_MILLISECOND = 10_000n;

/** An event as recorded by something else than this program has none of our metadata. */
const FOREIGN: EventMetadata = { schemaVersion: 1, actor: 'system:unknown' };

/** The event in an answer; undefined when the answer is of another kind. */
export const recordedEvent = (answer: ReadResp): RecordedEvent | undefined => {
  const record = answer.getEvent()?.getEvent();
  if (!record) return undefined;
  const facts = record.getMetadataMap();
  const position = BigInt(record.getCommitPosition());
  if (position === NO_POSITION) {
    throw new Error('the server tells no position in reads of a stream: EventStoreDB 22.10 or later is needed');
  }
  return {
    id: record.getId()?.getString() ?? '',
    type: facts.get('type') ?? '',
    data: (parse(record.getData_asU8()) as object | undefined) ?? {},
    metadata: (parse(record.getCustomMetadata_asU8()) as EventMetadata | undefined) ?? FOREIGN,
    stream: Buffer.from(record.getStreamIdentifier()?.getStreamName_asU8() ?? []).toString(),
    revision: BigInt(record.getStreamRevision()),
    position,
    recordedAt: Number(BigInt(facts.get('created') ?? '0') / TICKS_PER_MILLISECOND),
  };
};

/** Undefined for what is not a JSON object: others may write such events, and a filter by prefix may meet them. */
const parse = (bytes: Uint8Array): unknown => {
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString());
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
};
