import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { credentials, status } from '@grpc/grpc-js';
import type { ServiceError } from '@grpc/grpc-js';
import { EventStoreDBClient } from '@eventstore/db-client';
import { GossipClient } from '@eventstore/db-client/generated/gossip_grpc_pb.js';
import { ServerFeaturesClient } from '@eventstore/db-client/generated/serverfeatures_grpc_pb.js';
import { StreamsClient } from '@eventstore/db-client/generated/streams_grpc_pb.js';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import empty from 'google-protobuf/google/protobuf/empty_pb.js';
import timestamps from 'google-protobuf/google/protobuf/timestamp_pb.js';
import { FakeTime } from '#kernel';
import { all, errorOf, event, events, freshStream, signal, startBench } from './harness.js';
import type { Bench } from './harness.js';

let bench: Bench;
let raw: StreamsClient;
beforeAll(async () => {
  bench = await startBench();
  raw = new StreamsClient(`127.0.0.1:${bench.store.port}`, credentials.createInsecure());
});
afterAll(async () => {
  raw.close();
  await bench.close();
});

const identifier = (stream: string) => new shared.StreamIdentifier().setStreamName(Buffer.from(stream));
const uuid = (text: string) => new shared.UUID().setString(text);

describe('discovery', () => {
  it('lists batchappend of the streams service', async () => {
    const client = new ServerFeaturesClient(`127.0.0.1:${bench.store.port}`, credentials.createInsecure());
    const methods = await new Promise<string[]>((resolve, reject) => {
      client.getSupportedMethods(new shared.Empty(), (error, response) => {
        if (error) reject(error);
        else resolve(response.getMethodsList().map((m) => `${m.getServiceName()}/${m.getMethodName()}`));
      });
    });
    expect(methods).toContain('event_store.client.streams.streams/batchappend');
    client.close();
  });

  it('gossips one member that is alive and leads, under the name the caller used', async () => {
    const client = new GossipClient(`localhost:${bench.store.port}`, credentials.createInsecure());
    const members = await new Promise<unknown[]>((resolve, reject) => {
      client.read(new shared.Empty(), (error, info) => {
        if (error) reject(error);
        else resolve(info.getMembersList().map((member) => member.toObject()));
      });
    });
    expect(members).toEqual([
      expect.objectContaining({
        state: 8,
        isAlive: true,
        httpEndPoint: { address: 'localhost', port: bench.store.port },
      }),
    ]);
    client.close();
  });

  it.each(['esdb+discover://127.0.0.1:PORT', 'esdb://127.0.0.1:PORT,localhost:PORT'])('serves %s', async (pattern) => {
    const client = EventStoreDBClient.connectionString(
      `${pattern.replaceAll('PORT', String(bench.store.port))}?tls=false`,
    );
    const stream = freshStream();
    await client.appendToStream(stream, event());
    expect(await all(client.readStream(stream))).toHaveLength(1);
    await client.dispose();
  });
});

describe('what it does not serve', () => {
  it.each([
    ['persistent subscriptions', () => bench.client.deletePersistentSubscriptionToStream(freshStream(), 'group')],
    ['projections', () => bench.client.createProjection('p', 'fromAll()')],
  ])('%s are UNIMPLEMENTED', async (_name, call) => {
    expect(await errorOf(call())).toMatchObject({ code: status.UNIMPLEMENTED });
  });
});

describe('requests that the Node client never sends', () => {
  const read = async (options: InstanceType<typeof streams.ReadReq.Options>) => {
    const call = raw.read(new streams.ReadReq().setOptions(options));
    return (await all(call as unknown as AsyncIterable<InstanceType<typeof streams.ReadResp>>)).map((r) => r);
  };
  const readOf = (stream: string, from: number) =>
    new streams.ReadReq.Options()
      .setStream(
        new streams.ReadReq.Options.StreamOptions().setStreamIdentifier(identifier(stream)).setRevision(String(from)),
      )
      .setCount('10')
      .setNoFilter(new shared.Empty());

  it('gets structured ids when it does not ask for text', async () => {
    const stream = freshStream();
    const given = event();
    await bench.client.appendToStream(stream, given);
    const [response] = await read(readOf(stream, 0));
    const id = response?.getEvent()?.getEvent()?.getId()?.getStructured();
    const bytes = Buffer.alloc(16);
    bytes.writeBigInt64BE(BigInt(id?.getMostSignificantBits() ?? 0), 0);
    bytes.writeBigInt64BE(BigInt(id?.getLeastSignificantBits() ?? 0), 8);
    expect(bytes.toString('hex')).toBe(given.id.replaceAll('-', ''));
  });

  it('gets the bounds of a stream when it understands them', async () => {
    const stream = freshStream();
    await bench.client.appendToStream(stream, events(20));
    await bench.client.setStreamMetadata(stream, { truncateBefore: 20 });
    const options = readOf(stream, 0).setControlOption(new streams.ReadReq.Options.ControlOption().setCompatibility(1));
    const responses = await read(options);
    expect(responses.map((r) => [r.getFirstStreamPosition(), r.getLastStreamPosition()])).toEqual([
      ['20', '0'],
      ['0', '19'],
    ]);
  });

  it('reads $all through a filter', async () => {
    const prefix = freshStream('filtered');
    for (let n = 0; n < 5; n += 1) await bench.client.appendToStream(`${prefix}-${n}`, events(100));
    const expression = new streams.ReadReq.Options.FilterOptions.Expression().setPrefixList([`${prefix}-4`]);
    const options = new streams.ReadReq.Options()
      .setAll(new streams.ReadReq.Options.AllOptions().setStart(new shared.Empty()))
      .setCount('30')
      .setFilter(
        new streams.ReadReq.Options.FilterOptions().setStreamIdentifier(expression).setCount(new shared.Empty()),
      );
    const revisions = (await read(options)).map((r) => r.getEvent()?.getEvent()?.getStreamRevision());
    expect(revisions).toEqual(Array.from({ length: 30 }, (_, n) => String(n)));
    const backwards = (
      await read(
        options
          .setReadDirection(streams.ReadReq.Options.ReadDirection.BACKWARDS)
          .setAll(new streams.ReadReq.Options.AllOptions().setEnd(new shared.Empty())),
      )
    ).map((r) => r.getEvent()?.getEvent()?.getStreamRevision());
    expect(backwards).toEqual(Array.from({ length: 30 }, (_, n) => String(99 - n)));
  });

  it.each([
    ['no options', new streams.ReadReq()],
    ['no count', new streams.ReadReq().setOptions(new streams.ReadReq.Options())],
    ['no name', new streams.ReadReq().setOptions(readOf('', 0))],
  ])('is told what is wrong with a read: %s', async (_what, request) => {
    const call = raw.read(request) as unknown as AsyncIterable<unknown>;
    expect(await errorOf(all(call))).toMatchObject({ code: status.INVALID_ARGUMENT });
  });

  it('is told which metadata an event lacks', async () => {
    const answer = signal<ServiceError | null>();
    const call = raw.append((error) => answer.resolve(error));
    call.on('error', () => undefined);
    const options = new streams.AppendReq.Options().setStreamIdentifier(identifier(freshStream()));
    call.write(new streams.AppendReq().setOptions(options.setAny(new shared.Empty())));
    const message = new streams.AppendReq.ProposedMessage().setId(uuid(event().id));
    message.getMetadataMap().set('type', 'NoContentType');
    call.write(new streams.AppendReq().setProposedMessage(message));
    call.end();
    const error = await answer.promise;
    expect(error?.code).toBe(status.INVALID_ARGUMENT);
    expect(error?.metadata.getMap()).toMatchObject({
      exception: 'missing-required-metadata-property',
      'required-metadata-properties': 'type,content-type',
    });
  });
});

describe('one BatchAppend call', () => {
  const proposal = () => {
    const message = new streams.BatchAppendReq.ProposedMessage().setId(uuid(event().id)).setData(Buffer.from('{}'));
    message.getMetadataMap().set('type', 'T').set('content-type', 'application/json');
    return message;
  };
  const batch = (correlation: string, stream?: string) => {
    const request = new streams.BatchAppendReq()
      .setCorrelationId(uuid(correlation))
      .setProposedMessagesList([proposal()]);
    if (stream === undefined) return request;
    const options = new streams.BatchAppendReq.Options().setStreamIdentifier(identifier(stream));
    return request.setOptions(options.setAny(new empty.Empty()));
  };

  it('interleaves appends by correlation id, answers each once, and ends when its caller has', async () => {
    const [one, two, refused] = [event().id, event().id, event().id];
    const [a, b] = [freshStream(), freshStream()];
    const call = raw.batchAppend();
    const answers: InstanceType<typeof streams.BatchAppendResp>[] = [];
    call.on('data', (answer: InstanceType<typeof streams.BatchAppendResp>) => answers.push(answer));
    const ended = new Promise<void>((resolve) => call.on('end', resolve));
    call.write(batch(one, a));
    call.write(batch(two, b));
    call.write(batch(one));
    call.write(batch(refused, '$all').setIsFinal(true));
    call.write(batch(two).setIsFinal(true));
    call.write(batch(one).setIsFinal(true));
    call.end();
    await ended;
    const told = new Map(
      answers.map((answer) => [answer.getCorrelationId()?.getString(), answer.getSuccess()?.getCurrentRevision()]),
    );
    expect(told).toEqual(
      new Map([
        [one, '2'],
        [two, '1'],
        [refused, undefined],
      ]),
    );
    expect(await all(bench.client.readStream(a))).toHaveLength(3);
  });

  it('drops an append that is not complete when its time is up, and stores nothing of it', async () => {
    const time = new FakeTime(Date.UTC(2026, 0, 1));
    const other = await startBench({ clock: time, timers: time });
    const client = new StreamsClient(`127.0.0.1:${other.store.port}`, credentials.createInsecure());
    const call = client.batchAppend();
    const answers = (call as unknown as AsyncIterable<InstanceType<typeof streams.BatchAppendResp>>)[
      Symbol.asyncIterator
    ]();
    const [late, whole, stream] = [event().id, event().id, freshStream()];
    const request = batch(late, stream);
    const deadline = new timestamps.Timestamp();
    deadline.fromDate(new Date(time.now() + 5_000));
    request.getOptions()?.setDeadline(deadline);
    call.write(request);
    call.write(batch(whole, freshStream()).setIsFinal(true));
    expect((await answers.next()).value?.getCorrelationId()?.getString()).toBe(whole);
    time.advance(5_000);
    const { value } = await answers.next();
    expect(value?.getCorrelationId()?.getString()).toBe(late);
    expect(value?.getError()?.getDetails()?.getTypeName()).toBe('event_store.client.Timeout');
    call.write(batch(late).setIsFinal(true));
    call.end();
    expect((await answers.next()).done).toBe(true);
    expect(await errorOf(all(other.client.readStream(stream)))).toMatchObject({ type: 'stream-not-found' });
    client.close();
    await other.close();
  });
});
