import shared from '@eventstore/db-client/generated/shared_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import { MAX_APPEND_BYTES } from '../limits.js';
import { EventTooLarge } from '../port.js';
import { FieldReader } from './wire.js';
import type { BatchAppendResp } from '@eventstore/db-client/generated/streams_pb.js';
import type { Position } from '../port.js';

/** What became of one try. `unknown`: it may be stored, it may be stored later, or never. */
export type TryOutcome =
  | { readonly kind: 'stored'; readonly revision: bigint; readonly position: Position | undefined }
  | { readonly kind: 'conflict'; readonly actual: bigint | 'none' }
  | { readonly kind: 'refused'; readonly error: Error }
  | { readonly kind: 'unknown'; readonly error: Error };

export interface AppendAnswer {
  readonly correlationId: string;
  readonly outcome: TryOutcome;
}

/** Numbers of the fields in the protocol's `BatchAppendResp` and the messages below it. */
const ANSWER = { correlationId: 1, success: 3 };
const ID = { text: 2 };
const SUCCESS = { revision: 1, position: 3 };
const PLACE = { commit: 1 };

/** Reads one answer; what was stored by hand, for that is nearly all. Throws when the bytes are no answer. */
export const readAppendAnswer = (bytes: Buffer): AppendAnswer => {
  let correlationId = '';
  let outcome: TryOutcome | undefined;
  const answer = new FieldReader(bytes, 0, bytes.length);
  const { field } = answer;
  while (answer.next()) {
    if (field.number === ANSWER.correlationId) correlationId = idIn(bytes, field.from, field.to);
    if (field.number === ANSWER.success) outcome = storedIn(bytes, field.from, field.to);
  }
  return { correlationId, outcome: outcome ?? failureOf(streams.BatchAppendResp.deserializeBinary(bytes)) };
};

export const unknown = (error: Error): TryOutcome => ({ kind: 'unknown', error });

const idIn = (bytes: Buffer, from: number, to: number): string => {
  const id = new FieldReader(bytes, from, to);
  while (id.next()) if (id.field.number === ID.text) return bytes.toString('latin1', id.field.from, id.field.to);
  return '';
};

const storedIn = (bytes: Buffer, from: number, to: number): TryOutcome => {
  const success = new FieldReader(bytes, from, to);
  const { field } = success;
  let revision = 0n;
  let position: Position | undefined;
  while (success.next()) {
    if (field.number === SUCCESS.revision) revision = field.value;
    if (field.number === SUCCESS.position) position = commitIn(bytes, field.from, field.to);
  }
  return { kind: 'stored', revision, position };
};

const commitIn = (bytes: Buffer, from: number, to: number): Position => {
  const place = new FieldReader(bytes, from, to);
  while (place.next()) if (place.field.number === PLACE.commit) return place.field.value;
  return 0n;
};

/** What a refusal means. All that does not say for certain that nothing was stored is unknown. */
const failureOf = (answer: BatchAppendResp): TryOutcome => {
  const failure = answer.getError();
  const details = failure?.getDetails();
  const type = details?.getTypeName() ?? '';
  const message = failure?.getMessage() ?? 'the server refused the append without a reason';
  switch (type) {
    case 'event_store.client.WrongExpectedVersion': {
      const wrong = details?.unpack((bytes) => shared.WrongExpectedVersion.deserializeBinary(bytes), type);
      return {
        kind: 'conflict',
        actual: wrong?.hasCurrentStreamRevision() ? BigInt(wrong.getCurrentStreamRevision()) : 'none',
      };
    }
    case 'event_store.client.MaximumAppendSizeExceeded': {
      const exceeded = details?.unpack((bytes) => shared.MaximumAppendSizeExceeded.deserializeBinary(bytes), type);
      const limit = exceeded?.getMaxappendsize() ?? MAX_APPEND_BYTES;
      return { kind: 'refused', error: new EventTooLarge(limit + 1, limit) };
    }
    case 'event_store.client.StreamDeleted':
    case 'event_store.client.AccessDenied':
    case 'event_store.client.BadRequest':
      return { kind: 'refused', error: new Error(`${type.replace('event_store.client.', '')}: ${message}`) };
    default:
      return unknown(new Error(`${type.replace('event_store.client.', '')}: ${message}`));
  }
};
