import type { ExpectedRevision } from '../log/append-rules.js';
import type { ProposedEvent } from '../log/record.js';
import { NIL_UUID, normaliseUuid, uuidFromBytes } from '../log/uuid.js';
import { WireReader } from './wire.js';

/** The request is well formed protobuf and yet makes no sense. `missing` names a metadata key that must be there. */
export class BadRequestError extends Error {
  override readonly name = 'BadRequestError';
  constructor(
    message: string,
    readonly missing?: string,
  ) {
    super(message);
  }
}

/** A proposed event as it came in; `checkProposal` makes a `ProposedEvent` of it or says what is wrong. */
export interface Proposal {
  readonly id: string;
  readonly type: string | undefined;
  readonly contentType: string | undefined;
  readonly data: Uint8Array;
  readonly metadata: Uint8Array;
}

/** Which stream, and what the caller believes about it; undefined where the request left it out. */
export interface AppendOptions {
  readonly stream: string | undefined;
  readonly expected: ExpectedRevision | undefined;
  /** Milliseconds since 1970 after which the caller does not want it stored any more. */
  readonly deadline?: number;
  /** Milliseconds from now, likewise. */
  readonly timeout?: number;
}

/** One message of `Streams.BatchAppend`. */
export interface BatchAppendRequest {
  /** UUID in its normal form; answers carry it back. */
  readonly correlationId: string;
  readonly options: AppendOptions | undefined;
  readonly proposals: readonly Proposal[];
  readonly final: boolean;
}

/** One message of `Streams.Append`: first the options, then one proposal each. */
export type AppendRequest = { readonly options: AppendOptions } | { readonly proposal: Proposal };

const NOTHING = new Uint8Array();

export const decodeBatchAppend = (bytes: Buffer): BatchAppendRequest => {
  const reader = new WireReader(bytes);
  let correlationId = '';
  let options: AppendOptions | undefined;
  let final = false;
  const proposals: Proposal[] = [];
  while (reader.next()) {
    if (reader.field === 1) correlationId = readUuid(reader.message());
    else if (reader.field === 2) options = readBatchOptions(reader.message());
    else if (reader.field === 3) proposals.push(readProposal(reader.message()));
    else if (reader.field === 4) final = reader.varint() !== 0;
    else reader.skip();
  }
  return { correlationId, options, proposals, final };
};

export const decodeAppend = (bytes: Buffer): AppendRequest => {
  const reader = new WireReader(bytes);
  let request: AppendRequest | undefined;
  while (reader.next()) {
    if (reader.field === 1) request = { options: readOptions(reader.message()) };
    else if (reader.field === 2) request = { proposal: readProposal(reader.message()) };
    else reader.skip();
  }
  if (!request) throw new Error('an append message with neither options nor a proposed event');
  return request;
};

/** `Streams.Delete` and `Streams.Tombstone`: options alone. */
export const decodeDelete = (bytes: Buffer): AppendOptions => {
  const reader = new WireReader(bytes);
  let options: AppendOptions = { stream: undefined, expected: undefined };
  while (reader.next()) {
    if (reader.field === 1) options = readOptions(reader.message());
    else reader.skip();
  }
  return options;
};

/** Options of Append, Delete and Tombstone: they share their field numbers. */
const readOptions = (reader: WireReader): AppendOptions => {
  let stream: string | undefined;
  let expected: ExpectedRevision | undefined;
  while (reader.next()) {
    if (reader.field === 1) stream = readStreamName(reader.message());
    else if (reader.field >= 2 && reader.field <= 5) expected = readExpected(reader);
    else reader.skip();
  }
  return { stream, expected };
};

const readBatchOptions = (reader: WireReader): AppendOptions => {
  let stream: string | undefined;
  let expected: ExpectedRevision | undefined;
  let deadline: number | undefined;
  let timeout: number | undefined;
  while (reader.next()) {
    if (reader.field === 1) stream = readStreamName(reader.message());
    else if (reader.field >= 2 && reader.field <= 5) expected = readExpected(reader);
    else if (reader.field === 6) deadline = readMillis(reader.message());
    else if (reader.field === 7) timeout = readMillis(reader.message());
    else reader.skip();
  }
  return { stream, expected, ...(deadline !== undefined && { deadline }), ...(timeout !== undefined && { timeout }) };
};

const readExpected = (reader: WireReader): ExpectedRevision => {
  if (reader.field === 2) return { kind: 'exact', revision: reader.uint64() };
  const kind = reader.field === 3 ? 'no-stream' : reader.field === 4 ? 'any' : 'stream-exists';
  reader.skip();
  return { kind };
};

/** Seconds and nanoseconds, as Timestamp and Duration both have them. */
const readMillis = (reader: WireReader): number => {
  let millis = 0;
  while (reader.next()) {
    if (reader.field === 1) millis += Number(reader.int64()) * 1000;
    else if (reader.field === 2) millis += Number(reader.int64()) / 1e6;
    else reader.skip();
  }
  return millis;
};

const readStreamName = (reader: WireReader): string => {
  let name = '';
  while (reader.next()) {
    if (reader.field === 3) name = reader.text();
    else reader.skip();
  }
  return name;
};

const readUuid = (reader: WireReader): string => {
  let text = '';
  while (reader.next()) {
    if (reader.field === 2) text = reader.text();
    else if (reader.field === 1) text = readStructuredUuid(reader.message());
    else reader.skip();
  }
  return normaliseUuid(text) ?? text;
};

const readStructuredUuid = (reader: WireReader): string => {
  const bytes = Buffer.alloc(16);
  while (reader.next()) {
    if (reader.field === 1) bytes.writeBigInt64BE(reader.int64(), 0);
    else if (reader.field === 2) bytes.writeBigInt64BE(reader.int64(), 8);
    else reader.skip();
  }
  return uuidFromBytes(bytes);
};

const readProposal = (reader: WireReader): Proposal => {
  let id = '';
  let type: string | undefined;
  let contentType: string | undefined;
  let data: Uint8Array = NOTHING;
  let metadata: Uint8Array = NOTHING;
  while (reader.next()) {
    if (reader.field === 1) id = readUuid(reader.message());
    else if (reader.field === 2) {
      const [key, value] = readEntry(reader.message());
      if (key === 'type') type = value;
      else if (key === 'content-type') contentType = value;
    } else if (reader.field === 3) metadata = reader.view();
    else if (reader.field === 4) data = reader.view();
    else reader.skip();
  }
  return { id, type, contentType, data, metadata };
};

const readEntry = (reader: WireReader): [key: string, value: string] => {
  let key = '';
  let value = '';
  while (reader.next()) {
    if (reader.field === 1) key = reader.text();
    else if (reader.field === 2) value = reader.text();
    else reader.skip();
  }
  return [key, value];
};

/** @throws BadRequestError when the id is no UUID or is nil, or `type` or `content-type` is missing. */
export const checkProposal = (proposal: Proposal): ProposedEvent => {
  const { id, type, contentType, data, metadata } = proposal;
  if (type === undefined) throw new BadRequestError("Required Metadata Property 'type' is missing", 'type');
  if (contentType === undefined) {
    throw new BadRequestError("Required Metadata Property 'content-type' is missing", 'content-type');
  }
  if (normaliseUuid(id) === undefined) throw new BadRequestError(`'${id}' is not a UUID`);
  if (id === NIL_UUID) throw new BadRequestError('Empty eventId provided.');
  if (type === '') throw new BadRequestError('Empty eventType provided.');
  return { id, type, json: contentType === 'application/json', data, metadata };
};
