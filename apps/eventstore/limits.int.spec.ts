import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { binaryEvent } from '@eventstore/db-client';
import { all, errorOf, event, events, freshStream, startBench } from './harness.js';
import type { Bench } from './harness.js';

const MIB = 1024 * 1024;
const blob = (size: number, metadata?: Uint8Array) =>
  binaryEvent({ type: 'Blob', data: Buffer.alloc(size, 7), ...(metadata && { metadata }) });

describe.each([
  ['BatchAppend', {}],
  ['Append', { credentials: { username: 'someone', password: 'anything' } }],
] as const)('the size of an append through %s', (_way, options) => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await startBench();
  });
  afterAll(() => bench.close());

  const tooLarge = { type: 'maximum-append-size-exceeded', maxAppendSize: MIB };
  const nothingStored = async (stream: string): Promise<void> => {
    expect(await errorOf(all(bench.client.readStream(stream)))).toMatchObject({ type: 'stream-not-found' });
  };

  it('may be 1 MiB of data to the byte', async () => {
    const stream = freshStream();
    await bench.client.appendToStream(stream, blob(MIB), options);
    const [read] = await all(bench.client.readStream(stream));
    expect((read?.event?.data as Uint8Array).length).toBe(MIB);
  });

  it.each([
    ['one event', [blob(MIB + 1)]],
    ['many events together', Array.from({ length: 11 }, () => blob(100_000))],
    ['custom metadata', [blob(1, Buffer.alloc(MIB, 1))]],
    ['more than one message of the client', Array.from({ length: 8 }, () => blob(600_000))],
  ])('may not be more: %s', async (_what, list) => {
    const stream = freshStream();
    expect(await errorOf(bench.client.appendToStream(stream, list, options))).toMatchObject(tooLarge);
    await nothingStored(stream);
    expect((await bench.client.appendToStream(stream, event(), options)).nextExpectedRevision).toBe(0n);
  });

  it('is counted over all messages of one append', async () => {
    const stream = freshStream();
    const list = Array.from({ length: 9 }, () => blob(100_000));
    const result = await bench.client.appendToStream(stream, list, { ...options, batchAppendSize: 150_000 });
    expect(result.nextExpectedRevision).toBe(8n);
  });
});

describe('other limits', () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await startBench({ maxAppendSize: 1000 });
  });
  afterAll(() => bench.close());

  it('the size is configurable', async () => {
    const append = (size: number) => bench.client.appendToStream(freshStream(), blob(size));
    await append(1000);
    expect(await errorOf(append(1001))).toMatchObject({ type: 'maximum-append-size-exceeded', maxAppendSize: 1000 });
  });

  it('a batch whose deadline has passed is not stored', async () => {
    const stream = freshStream();
    const late = bench.client.appendToStream(stream, event(), { deadline: -1000 });
    expect(await errorOf(late)).toMatchObject({ type: 'deadline-exceeded' });
    expect((await bench.client.appendToStream(stream, event(), { deadline: 60_000 })).nextExpectedRevision).toBe(0n);
  });

  it('an append without a stream name is refused', async () => {
    expect(await errorOf(bench.client.appendToStream('', event()))).toMatchObject({ type: 'unknown' });
  });

  it('an event id that is nil is refused and the call goes on', async () => {
    const nil = { ...event(), id: '00000000-0000-0000-0000-000000000000' };
    expect(await errorOf(bench.client.appendToStream(freshStream(), [event(), nil]))).toMatchObject({
      type: 'unknown',
    });
    await bench.client.appendToStream(freshStream(), events(2));
  });
});
