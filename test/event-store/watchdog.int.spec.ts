import shared from '@eventstore/db-client/generated/shared_pb.js';
import streamsGrpc from '@eventstore/db-client/generated/streams_grpc_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { expect, it } from '@jest/globals';
import { Recorder } from '#event-store/conformance';
import { connect, plainUrl } from './servers.js';
import type { ReadReq, ReadResp } from '@eventstore/db-client/generated/streams_pb.js';
import type { ServerWritableStream } from '@grpc/grpc-js';

const stored = (n: number, position: bigint): ReadResp => {
  const id = new shared.UUID();
  id.setString(`018f0000-0000-7000-8000-00000000000${n}`);
  const name = new shared.StreamIdentifier();
  name.setStreamName(Buffer.from('job-1'));
  const record = new streams.ReadResp.ReadEvent.RecordedEvent();
  record.setId(id);
  record.setStreamIdentifier(name);
  record.setStreamRevision(String(n));
  record.setCommitPosition(String(position));
  record.getMetadataMap().set('type', 'Numbered').set('content-type', 'application/json');
  record.setData(Buffer.from(JSON.stringify({ n })));
  const event = new streams.ReadResp.ReadEvent();
  event.setEvent(record);
  const answer = new streams.ReadResp();
  answer.setEvent(event);
  return answer;
};

const confirmation = (): ReadResp => {
  const answer = new streams.ReadResp();
  answer.setConfirmation(new streams.ReadResp.SubscriptionConfirmation());
  return answer;
};

/**
 * A server of one event whose first subscriptions are confirmed and then forgotten, as happens when the server's side of
 * a subscription dies while its connection lives. It never says that a subscription has caught up, as old ones do not.
 */
const forgetful = async (forgets: number): Promise<{ server: Server; port: number; subscriptions: () => number }> => {
  let subscriptions = 0;
  const read = (call: ServerWritableStream<ReadReq, ReadResp>): void => {
    const options = call.request.getOptions();
    if (!options?.hasSubscription()) {
      call.write(stored(0, 700n));
      call.end();
      return;
    }
    subscriptions += 1;
    call.write(confirmation());
    if (subscriptions > forgets) call.write(stored(0, 700n));
  };
  const refuse = (): void => undefined;
  const server = new Server();
  const service = streamsGrpc.StreamsService;
  server.addService(service, { read, append: refuse, batchAppend: refuse, delete: refuse, tombstone: refuse });
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    );
  });
  return { server, port, subscriptions: () => subscriptions };
};

it('a subscription that the server has forgotten is found by its missing event and made anew', async () => {
  const { server, port, subscriptions } = await forgetful(2);
  const store = connect(plainUrl(port), { idle: 400 });
  const recorder = new Recorder();
  const subscription = store.subscribe({ after: -1n, filter: { streamPrefixes: ['job-'] } }, recorder);
  await recorder.untilCaughtUp();
  expect(recorder.told).toEqual(['down', 'up', 'down', 'up', 0, 'caughtUp']);
  expect(subscriptions()).toBe(3);
  await subscription.stop();
  await store.close();
  server.forceShutdown();
});
