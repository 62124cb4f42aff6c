import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ANY, NO_STREAM, STREAM_EXISTS, binaryEvent, jsonEvent } from '@eventstore/db-client';
import type { AppendExpectedRevision, EventData } from '@eventstore/db-client';
import { all, errorOf, event, events, freshStream, startBench } from './harness.js';
import type { Bench } from './harness.js';

/** Credentials of the call make the client use unary Append; without them it uses BatchAppend. */
const WAYS = [
  ['BatchAppend', {}],
  ['Append', { credentials: { username: 'someone', password: 'anything' } }],
] as const;

describe.each(WAYS)('appending through %s', (_way, options) => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await startBench();
  });
  afterAll(() => bench.close());

  const append = (stream: string, list: EventData | EventData[], expectedRevision: AppendExpectedRevision) =>
    bench.client.appendToStream(stream, list, { expectedRevision, ...options });

  it('answers with the revision and position of the last event', async () => {
    const stream = freshStream();
    const first = await append(stream, events(2), NO_STREAM);
    const second = await append(stream, event(), 1n);
    const [, last, third] = await all(bench.client.readStream(stream));
    expect(first).toEqual({ success: true, nextExpectedRevision: 1n, position: last?.event?.position });
    expect(second).toEqual({ success: true, nextExpectedRevision: 2n, position: third?.event?.position });
  });

  it('takes any revision, of a missing stream and of one that exists', async () => {
    const stream = freshStream();
    expect((await append(stream, event(), ANY)).nextExpectedRevision).toBe(0n);
    expect((await append(stream, event(), ANY)).nextExpectedRevision).toBe(1n);
  });

  it.each([
    ['NO_STREAM of a stream that exists', NO_STREAM, 'no_stream', 2, 1n],
    ['STREAM_EXISTS of a missing stream', STREAM_EXISTS, 'stream_exists', 0, 'no_stream'],
    ['a revision of a missing stream', 0n, 0n, 0, 'no_stream'],
    ['a revision above the head', 2n, 2n, 2, 1n],
    ['a revision below the head', 0n, 0n, 2, 1n],
    ['a revision beyond what a double holds', 9007199254740993n, 9007199254740993n, 2, 1n],
  ] as const)('refuses %s and stores nothing', async (_what, expected, told, stored, actual) => {
    const stream = freshStream();
    if (stored > 0) await append(stream, events(stored), NO_STREAM);
    const error = await errorOf(append(stream, event(), expected));
    expect(error).toMatchObject({
      type: 'wrong-expected-version',
      streamName: stream,
      expectedVersion: told,
      actualVersion: actual,
    });
    if (stored > 0) expect(await all(bench.client.readStream(stream))).toHaveLength(stored);
  });

  it('takes STREAM_EXISTS of a stream that has nothing but metadata', async () => {
    const stream = freshStream();
    await bench.client.setStreamMetadata(stream, { maxCount: 5 });
    expect((await append(stream, event(), STREAM_EXISTS)).nextExpectedRevision).toBe(0n);
  });

  it('takes an append without events and changes nothing', async () => {
    const stream = freshStream();
    await append(stream, events(3), NO_STREAM);
    expect((await append(stream, [], ANY)).nextExpectedRevision).toBe(2n);
    expect(await errorOf(append(stream, [], 0n))).toMatchObject({ type: 'wrong-expected-version' });
    expect(await all(bench.client.readStream(stream))).toHaveLength(3);
  });

  it('keeps bytes, JSON, metadata, ids and names as they were given', async () => {
    const stream = `${freshStream()} ünïcode/ 名前 🚀`;
    const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);
    const metadata = { $correlationId: 'c-1', nested: { list: [1, 'two', null] } };
    const given = [
      jsonEvent({ type: 'Ünïcode 型', data: { text: 'ä\n"名"', n: 1.5 }, metadata }),
      binaryEvent({ type: 'Bytes', data: bytes, metadata: Uint8Array.from([255, 0, 1]) }),
      jsonEvent({ type: 'NoMetadata', data: {} }),
    ];
    await append(stream, given, NO_STREAM);
    const read = (await all(bench.client.readStream(stream))).map((resolved) => resolved.event);
    expect(read.map((e) => [e?.id, e?.type, e?.streamId, e?.revision, e?.isJson])).toEqual([
      [given[0]?.id, 'Ünïcode 型', stream, 0n, true],
      [given[1]?.id, 'Bytes', stream, 1n, false],
      [given[2]?.id, 'NoMetadata', stream, 2n, true],
    ]);
    expect(read[0]).toMatchObject({ data: { text: 'ä\n"名"', n: 1.5 }, metadata });
    expect(Buffer.from(read[1]?.data as Uint8Array)).toEqual(Buffer.from(bytes));
    expect(Buffer.from(read[1]?.metadata as Uint8Array)).toEqual(Buffer.from([255, 0, 1]));
    expect(read[2]?.metadata).toBeUndefined();
    expect(Math.abs(Number(read[0]?.created) - Number(new Date(Number(read[2]?.created))))).toBe(0);
  });

  it('hands out positions that rise and are never consecutive', async () => {
    const stream = freshStream();
    await append(stream, events(50), NO_STREAM);
    const positions = (await all(bench.client.readStream(stream))).map(({ event: e }) => e?.position);
    expect(positions.every((position) => position?.commit === position?.prepare)).toBe(true);
    const steps = positions.slice(1).map((position, i) => (position?.commit ?? 0n) - (positions[i]?.commit ?? 0n));
    expect(steps.every((step) => step > 1n)).toBe(true);
  });

  it('lets one of many appends with the same expectation win', async () => {
    const stream = freshStream();
    const outcomes = await Promise.allSettled(Array.from({ length: 50 }, () => append(stream, events(2), NO_STREAM)));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(await all(bench.client.readStream(stream))).toHaveLength(2);
  });

  it('resolves 1,000 appends that are the first act of a new client', async () => {
    const client = bench.connect();
    const stream = freshStream();
    const results = await Promise.all(
      Array.from({ length: 1000 }, () => client.appendToStream(stream, event(), { ...options })),
    );
    expect(new Set(results.map(({ nextExpectedRevision }) => nextExpectedRevision)).size).toBe(1000);
  });
});
