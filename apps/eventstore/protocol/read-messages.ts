import streams from '@eventstore/db-client/generated/streams_pb.js';
import shared from '@eventstore/db-client/generated/shared_pb.js';

/* The answers of `Streams.Read` that are not events. */

const encode = (response: InstanceType<typeof streams.ReadResp>): Buffer => Buffer.from(response.serializeBinary());

export const encodeConfirmation = (subscriptionId: string): Buffer =>
  encode(
    new streams.ReadResp().setConfirmation(
      new streams.ReadResp.SubscriptionConfirmation().setSubscriptionId(subscriptionId),
    ),
  );

export const encodeCaughtUp = (): Buffer => encode(new streams.ReadResp().setCaughtUp(new streams.ReadResp.CaughtUp()));

export const encodeFellBehind = (): Buffer =>
  encode(new streams.ReadResp().setFellBehind(new streams.ReadResp.FellBehind()));

export const encodeCheckpoint = (position: number): Buffer => {
  const text = String(position);
  const checkpoint = new streams.ReadResp.Checkpoint().setCommitPosition(text).setPreparePosition(text);
  return encode(new streams.ReadResp().setCheckpoint(checkpoint));
};

export const encodeStreamNotFound = (stream: string): Buffer => {
  const identifier = new shared.StreamIdentifier().setStreamName(Buffer.from(stream));
  return encode(
    new streams.ReadResp().setStreamNotFound(new streams.ReadResp.StreamNotFound().setStreamIdentifier(identifier)),
  );
};

export const encodeFirstStreamPosition = (revision: number): Buffer =>
  encode(new streams.ReadResp().setFirstStreamPosition(String(revision)));

export const encodeLastStreamPosition = (revision: number): Buffer =>
  encode(new streams.ReadResp().setLastStreamPosition(String(revision)));
