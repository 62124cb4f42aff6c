import type { ServerUnaryCall, sendUnaryData } from '@grpc/grpc-js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import type { WriteOutcome } from '../log/write.js';
import { authorise, isForCaller } from './context.js';
import type { ServiceContext } from './context.js';
import { internalError, invalidArgument, streamDeleted, timedOut, wrongExpectedVersion } from './errors.js';
import type { AppendOptions } from './requests.js';

type DeleteResp = InstanceType<typeof streams.DeleteResp>;
type TombstoneResp = InstanceType<typeof streams.TombstoneResp>;
/** A delete or tombstone request: options alone. */
export type DeleteRequest = AppendOptions;

/** `Streams.Delete`: soft; the stream can be used again. */
export const handleDelete =
  (context: ServiceContext) =>
  (call: ServerUnaryCall<DeleteRequest, DeleteResp>, callback: sendUnaryData<DeleteResp>): void =>
    remove(context, 'delete', call, callback, (position) =>
      new streams.DeleteResp().setPosition(
        new streams.DeleteResp.Position().setCommitPosition(position).setPreparePosition(position),
      ),
    );

/** `Streams.Tombstone`: for good. */
export const handleTombstone =
  (context: ServiceContext) =>
  (call: ServerUnaryCall<DeleteRequest, TombstoneResp>, callback: sendUnaryData<TombstoneResp>): void =>
    remove(context, 'tombstone', call, callback, (position) =>
      new streams.TombstoneResp().setPosition(
        new streams.TombstoneResp.Position().setCommitPosition(position).setPreparePosition(position),
      ),
    );

const remove = <Response>(
  context: ServiceContext,
  kind: 'delete' | 'tombstone',
  call: ServerUnaryCall<DeleteRequest, Response>,
  callback: sendUnaryData<Response>,
  respond: (position: string) => Response,
): void => {
  const { stream, expected } = call.request;
  try {
    if (!stream || stream === '$$') throw invalidArgument('the stream has no name');
    if (!expected) throw invalidArgument('the expected revision is not given');
    authorise(context, call.metadata, 'delete', stream);
    context.log.write({
      request: { kind, stream, expected },
      bytes: stream.length,
      abandoned: () => call.cancelled,
      settle: (outcome) =>
        outcome.kind === 'stored'
          ? callback(null, respond(String(outcome.position)))
          : callback(refusal(call.request, outcome)),
      fail: (error) => {
        context.logger.error('a commit failed', { error: error.message, stream });
        callback(internalError());
      },
    });
  } catch (error) {
    if (!isForCaller(error)) throw error;
    callback(error as Error);
  }
};

const refusal = (
  { stream = '', expected = { kind: 'any' } }: DeleteRequest,
  outcome: Exclude<WriteOutcome, { kind: 'stored' }>,
): Error => {
  switch (outcome.kind) {
    case 'wrong-revision':
      return wrongExpectedVersion('Delete', stream, expected, outcome.current);
    case 'deleted':
      return streamDeleted(stream);
    case 'expired':
      return timedOut();
  }
};
