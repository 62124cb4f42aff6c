import empty from 'google-protobuf/google/protobuf/empty_pb.js';
import anyPb from 'google-protobuf/google/protobuf/any_pb.js';
import codes from '@eventstore/db-client/generated/code_pb.js';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import statusPb from '@eventstore/db-client/generated/status_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import type { Message } from 'google-protobuf';
import type { ExpectedRevision } from '../log/append-rules.js';

/** Why an append of a batch failed, in the form of a `google.rpc.Status`. */
export type BatchError = InstanceType<typeof statusPb.Status>;

const { Code } = codes;

const batchError = (code: codes.Code, name: string, detail: Message): BatchError => {
  const any = new anyPb.Any();
  any.pack(detail.serializeBinary(), `event_store.client.${name}`);
  return new statusPb.Status().setCode(code).setMessage(name).setDetails(any);
};

export const wrongVersion = (expected: ExpectedRevision, current: number): BatchError => {
  const detail = new shared.WrongExpectedVersion();
  if (current < 0) detail.setCurrentNoStream(new empty.Empty());
  else detail.setCurrentStreamRevision(String(current));
  switch (expected.kind) {
    case 'any':
      detail.setExpectedAny(new empty.Empty());
      break;
    case 'no-stream':
      detail.setExpectedNoStream(new empty.Empty());
      break;
    case 'stream-exists':
      detail.setExpectedStreamExists(new empty.Empty());
      break;
    case 'exact':
      detail.setExpectedStreamPosition(String(expected.revision));
  }
  return batchError(Code.ALREADY_EXISTS, 'WrongExpectedVersion', detail);
};

export const batchStreamDeleted = (stream: string): BatchError =>
  batchError(
    Code.NOT_FOUND,
    'StreamDeleted',
    new shared.StreamDeleted().setStreamIdentifier(new shared.StreamIdentifier().setStreamName(Buffer.from(stream))),
  );

export const batchAccessDenied = (): BatchError =>
  batchError(Code.PERMISSION_DENIED, 'AccessDenied', new shared.AccessDenied());

export const batchTimeout = (): BatchError => batchError(Code.DEADLINE_EXCEEDED, 'Timeout', new shared.Timeout());

export const batchTooLarge = (limit: number): BatchError =>
  batchError(
    Code.INVALID_ARGUMENT,
    'MaximumAppendSizeExceeded',
    new shared.MaximumAppendSizeExceeded().setMaxappendsize(limit),
  );

export const batchBadRequest = (message: string): BatchError =>
  batchError(Code.INVALID_ARGUMENT, 'BadRequest', new shared.BadRequest().setMessage(message));

export const batchUnknown = (): BatchError => batchError(Code.UNKNOWN, 'Unknown', new shared.Unknown());

/** A `BatchAppendResp` that reports a failure. */
export const encodeBatchFailure = (correlationId: string, stream: string, error: BatchError): Buffer => {
  const response = new streams.BatchAppendResp()
    .setCorrelationId(new shared.UUID().setString(correlationId))
    .setStreamIdentifier(new shared.StreamIdentifier().setStreamName(Buffer.from(stream)))
    .setError(error);
  return Buffer.from(response.serializeBinary());
};
