import { FieldReader } from './wire.js';
import type { EventMetadata, Position, RecordedEvent } from '../port.js';

/** What old servers answer for a position that they do not know: 2⁶⁴−1. */
const NO_POSITION = 2n ** 64n - 1n;

const TICKS_PER_MILLISECOND = 10_000n;

/** An event as recorded by something else than this program has none of our metadata. */
const FOREIGN: EventMetadata = { schemaVersion: 1, actor: 'system:unknown' };

/** What one answer to a read says; nothing for kinds that no reader here looks at. */
export interface ReadAnswer {
  readonly event?: RecordedEvent;
  readonly checkpoint?: Position;
  readonly caughtUp?: true;
}

/** Numbers of the fields in the protocol's `ReadResp` and the messages below it. */
const ANSWER = { event: 1, checkpoint: 3, caughtUp: 8 };
const EVENT = { event: 1 };
const RECORD = { id: 1, stream: 2, revision: 3, position: 5, facts: 6, metadata: 7, data: 8 };
const ID = { text: 2 };
const STREAM = { name: 3 };
const CHECKPOINT = { position: 1 };
const ENTRY = { key: 1, value: 2 };

/** How many events are remembered: more than two subscriptions that follow the log live are ever apart. */
const REMEMBERED = 4096;

/**
 * Reads the server's answers, a few times faster than the generated code, which makes an object of every part. Several
 * subscriptions of one process get the same events at about the same time: each event is read once and then shared, so
 * nobody may change one.
 */
export class AnswerDecoder {
  private readonly known = new Map<Position, RecordedEvent>();

  /** Throws `RangeError` when the bytes are no answer, and says so when the server is too old. */
  decode(bytes: Buffer): ReadAnswer {
    const answer = new FieldReader(bytes, 0, bytes.length);
    const { field } = answer;
    while (answer.next()) {
      if (field.number === ANSWER.event) return this.eventIn(bytes, field.from, field.to);
      if (field.number === ANSWER.checkpoint) {
        return { checkpoint: numberIn(bytes, field.from, field.to, CHECKPOINT.position) };
      }
      if (field.number === ANSWER.caughtUp) return { caughtUp: true };
    }
    return {};
  }

  private eventIn(bytes: Buffer, from: number, to: number): ReadAnswer {
    const place = partOf(bytes, from, to, EVENT.event);
    if (!place) return {};
    const record = fieldsOf(bytes, place[0], place[1]);
    if (record.position === NO_POSITION) {
      throw new Error('the server tells no position in reads of a stream: EventStoreDB 22.10 or later is needed');
    }
    const known = this.known.get(record.position);
    // The id too: a log that was restored may have another event there.
    if (known?.id === record.id) return { event: known };
    const event = recordedEvent(bytes, record);
    this.known.set(event.position, event);
    if (this.known.size > REMEMBERED) for (const oldest of this.known.keys()) return this.forget(oldest, event);
    return { event };
  }

  private forget(oldest: Position, event: RecordedEvent): ReadAnswer {
    this.known.delete(oldest);
    return { event };
  }
}

type Part = readonly [from: number, to: number];

const NOWHERE: Part = [0, 0];

/** A record whose parts are not read yet. */
interface RecordFields {
  id: string;
  stream: Part;
  revision: bigint;
  position: bigint;
  type: string;
  created: string;
  metadata: Part;
  data: Part;
}

const fieldsOf = (bytes: Buffer, from: number, to: number): RecordFields => {
  const found: RecordFields = {
    id: '',
    stream: NOWHERE,
    revision: 0n,
    position: 0n,
    type: '',
    created: '0',
    metadata: NOWHERE,
    data: NOWHERE,
  };
  const record = new FieldReader(bytes, from, to);
  const { field } = record;
  while (record.next()) take(bytes, field, found);
  return found;
};

const take = (bytes: Buffer, field: FieldReader['field'], found: RecordFields): void => {
  switch (field.number) {
    case RECORD.id:
      found.id = textOf(bytes, partOf(bytes, field.from, field.to, ID.text));
      return;
    case RECORD.stream:
      found.stream = partOf(bytes, field.from, field.to, STREAM.name) ?? NOWHERE;
      return;
    case RECORD.revision:
      found.revision = field.value;
      return;
    case RECORD.position:
      found.position = field.value;
      return;
    case RECORD.facts:
      takeFact(bytes, field.from, field.to, found);
      return;
    case RECORD.metadata:
      found.metadata = [field.from, field.to];
      return;
    case RECORD.data:
      found.data = [field.from, field.to];
  }
};

const takeFact = (bytes: Buffer, from: number, to: number, found: RecordFields): void => {
  const key = textOf(bytes, partOf(bytes, from, to, ENTRY.key));
  if (key === 'type') found.type = textOf(bytes, partOf(bytes, from, to, ENTRY.value));
  if (key === 'created') found.created = textOf(bytes, partOf(bytes, from, to, ENTRY.value));
};

/** Where the bytes of a field are within a message. */
const partOf = (bytes: Buffer, from: number, to: number, number: number): Part | undefined => {
  const message = new FieldReader(bytes, from, to);
  while (message.next()) if (message.field.number === number) return [message.field.from, message.field.to];
  return undefined;
};

const numberIn = (bytes: Buffer, from: number, to: number, number: number): bigint => {
  const message = new FieldReader(bytes, from, to);
  while (message.next()) if (message.field.number === number) return message.field.value;
  return 0n;
};

const textOf = (bytes: Buffer, part: Part | undefined): string =>
  part ? bytes.toString('utf8', part[0], part[1]) : '';

const recordedEvent = (bytes: Buffer, record: RecordFields): RecordedEvent => ({
  id: record.id,
  type: record.type,
  data: (parse(bytes, record.data) as object | undefined) ?? {},
  metadata: (parse(bytes, record.metadata) as EventMetadata | undefined) ?? FOREIGN,
  stream: textOf(bytes, record.stream),
  revision: record.revision,
  position: record.position,
  recordedAt: Number(BigInt(record.created) / TICKS_PER_MILLISECOND),
});

/** Undefined for what is not a JSON object: others may write such events, and a filter by prefix may meet them. */
const parse = (bytes: Buffer, part: Part): unknown => {
  try {
    const value: unknown = JSON.parse(textOf(bytes, part));
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
};
