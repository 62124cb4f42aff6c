import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ANY, BACKWARDS, END, NO_STREAM, STREAM_EXISTS } from '@eventstore/db-client';
import { FakeTime } from '#kernel';
import { all, errorOf, event, events, freshStream, startBench } from './harness.js';
import type { Bench } from './harness.js';

let bench: Bench;
const revisions = async (stream: string): Promise<bigint[]> =>
  (await all(bench.client.readStream(stream))).map(({ event: e }) => e?.revision ?? -1n);

describe('deleting a stream softly', () => {
  beforeAll(async () => {
    bench = await startBench();
  });
  afterAll(() => bench.close());

  const deleted = async (count = 3): Promise<string> => {
    const stream = freshStream();
    await bench.client.appendToStream(stream, events(count));
    await bench.client.deleteStream(stream);
    return stream;
  };

  it('makes it read as missing and answers with a position', async () => {
    const stream = freshStream();
    await bench.client.appendToStream(stream, event());
    const { position } = await bench.client.deleteStream(stream, { expectedRevision: 0n });
    expect(position?.commit).toBeGreaterThan(0n);
    expect(await errorOf(all(bench.client.readStream(stream)))).toMatchObject({ type: 'stream-not-found' });
  });

  it.each([
    ['ANY', ANY],
    ['NO_STREAM', NO_STREAM],
    ['its old head', 2n],
  ] as const)('lets it begin again under %s, with the next revision', async (_name, expectedRevision) => {
    const stream = await deleted();
    const result = await bench.client.appendToStream(stream, events(2), { expectedRevision });
    expect(result.nextExpectedRevision).toBe(4n);
    expect(await revisions(stream)).toEqual([3n, 4n]);
    expect((await bench.client.getStreamMetadata(stream)).metadata).toEqual({ truncateBefore: 3 });
  });

  it('refuses STREAM_EXISTS as deleted and a wrong revision as wrong', async () => {
    const stream = await deleted();
    const append = (expectedRevision: typeof STREAM_EXISTS | bigint) =>
      errorOf(bench.client.appendToStream(stream, event(), { expectedRevision }));
    expect(await append(STREAM_EXISTS)).toMatchObject({ type: 'stream-deleted' });
    expect(await append(7n)).toMatchObject({ type: 'wrong-expected-version', actualVersion: 2n });
    expect(await append(1n)).toMatchObject({ type: 'wrong-expected-version', actualVersion: 2n });
  });

  it('is undone through new metadata only from the next revision on', async () => {
    const stream = await deleted();
    await bench.client.setStreamMetadata(stream, { maxCount: 10, custom: { keep: true } });
    expect(await revisions(stream)).toEqual([]);
    await bench.client.appendToStream(stream, event());
    expect(await revisions(stream)).toEqual([3n]);
    const { metadata } = await bench.client.getStreamMetadata(stream);
    expect(metadata).toEqual({ maxCount: 10, custom: { keep: true }, truncateBefore: 3 });
  });

  it('is refused when the revision is wrong or there is nothing to delete', async () => {
    const stream = freshStream();
    expect(await errorOf(bench.client.deleteStream(stream))).toMatchObject({
      type: 'wrong-expected-version',
      streamName: stream,
      expectedVersion: -2n,
      actualVersion: -1n,
    });
    await bench.client.appendToStream(stream, events(3));
    for (const [expectedRevision, expectedVersion] of [
      [1n, 1n],
      [NO_STREAM, -1n],
    ] as const) {
      expect(await errorOf(bench.client.deleteStream(stream, { expectedRevision }))).toMatchObject({
        type: 'wrong-expected-version',
        expectedVersion,
        actualVersion: 2n,
      });
    }
    expect(await revisions(stream)).toEqual([0n, 1n, 2n]);
  });

  it('can be done twice, and again after it began anew', async () => {
    const stream = await deleted();
    await bench.client.deleteStream(stream);
    await bench.client.appendToStream(stream, event());
    await bench.client.deleteStream(stream);
    await bench.client.appendToStream(stream, event());
    expect(await revisions(stream)).toEqual([4n]);
  });

  it('leaves its events in $all', async () => {
    const stream = await deleted();
    const left = (await all(bench.client.readAll())).filter(({ event: e }) => e?.streamId === stream);
    expect(left).toHaveLength(3);
  });
});

describe('tombstoning a stream', () => {
  beforeAll(async () => {
    bench = await startBench();
  });
  afterAll(() => bench.close());

  const tombstoned = async (): Promise<string> => {
    const stream = freshStream();
    await bench.client.appendToStream(stream, events(2));
    await bench.client.tombstoneStream(stream, { expectedRevision: 1n });
    return stream;
  };

  it('ends reads, appends, deletions and metadata for good', async () => {
    const stream = await tombstoned();
    const gone = { type: 'stream-deleted', streamName: stream };
    const { client } = bench;
    const credentials = { username: 'x', password: 'y' };
    expect(await errorOf(all(client.readStream(stream)))).toMatchObject(gone);
    for (const expectedRevision of [ANY, NO_STREAM, STREAM_EXISTS, 1n] as const) {
      expect(await errorOf(client.appendToStream(stream, event(), { expectedRevision }))).toMatchObject(gone);
      expect(await errorOf(client.appendToStream(stream, event(), { expectedRevision, credentials }))).toMatchObject(
        gone,
      );
    }
    expect(await errorOf(client.deleteStream(stream))).toMatchObject(gone);
    expect(await errorOf(client.tombstoneStream(stream))).toMatchObject(gone);
    expect(await errorOf(client.setStreamMetadata(stream, { maxCount: 1 }))).toMatchObject({ type: 'stream-deleted' });
    expect(await errorOf(client.getStreamMetadata(stream))).toMatchObject({ type: 'stream-deleted' });
  });

  it('works on a stream that never existed and on one deleted softly', async () => {
    const [missing, deleted] = [freshStream(), freshStream()];
    await bench.client.tombstoneStream(missing, { expectedRevision: NO_STREAM });
    await bench.client.appendToStream(deleted, event());
    await bench.client.deleteStream(deleted);
    await bench.client.tombstoneStream(deleted);
    for (const stream of [missing, deleted]) {
      expect(await errorOf(all(bench.client.readStream(stream)))).toMatchObject({ type: 'stream-deleted' });
    }
  });

  it('is refused under a wrong revision', async () => {
    const stream = freshStream();
    await bench.client.appendToStream(stream, events(2));
    expect(await errorOf(bench.client.tombstoneStream(stream, { expectedRevision: 5n }))).toMatchObject({
      type: 'wrong-expected-version',
      expectedVersion: 5n,
      actualVersion: 1n,
    });
  });

  it('shows in $all as an event with the largest revision', async () => {
    const stream = await tombstoned();
    const last = (await all(bench.client.readAll({ direction: BACKWARDS, fromPosition: END, maxCount: 1 })))[0];
    expect(last?.event).toMatchObject({ streamId: stream, type: '$streamDeleted', revision: 9223372036854775807n });
  });
});

describe('stream metadata', () => {
  const time = new FakeTime(Date.UTC(2026, 0, 1));
  beforeAll(async () => {
    bench = await startBench({ clock: time });
  });
  afterAll(() => bench.close());

  it('is kept in $$stream, only the last of which is read', async () => {
    const stream = freshStream();
    await bench.client.setStreamMetadata(stream, { maxCount: 3 });
    await bench.client.setStreamMetadata(stream, { maxCount: 4, team: 'a' }, { expectedRevision: 0n });
    expect((await bench.client.getStreamMetadata(stream)).metadata).toEqual({ maxCount: 4, team: 'a' });
    expect(await revisions(`$$${stream}`)).toEqual([1n]);
    expect((await bench.client.getStreamMetadata(freshStream())).metadata).toBeUndefined();
  });

  it('$maxCount shows the last events only, both ways, and moves along', async () => {
    const stream = freshStream();
    await bench.client.appendToStream(stream, events(10));
    await bench.client.setStreamMetadata(stream, { maxCount: 3 });
    expect(await revisions(stream)).toEqual([7n, 8n, 9n]);
    await bench.client.appendToStream(stream, event());
    const backwards = bench.client.readStream(stream, { direction: BACKWARDS, fromRevision: END });
    expect((await all(backwards)).map(({ event: e }) => e?.revision)).toEqual([10n, 9n, 8n]);
    await bench.client.setStreamMetadata(stream, {});
    expect(await revisions(stream)).toHaveLength(11);
  });

  it('$tb hides what is below it, from a catch-up subscription too', async () => {
    const stream = freshStream();
    await bench.client.appendToStream(stream, events(6));
    await bench.client.setStreamMetadata(stream, { truncateBefore: 4 });
    expect(await revisions(stream)).toEqual([4n, 5n]);
    const subscription = bench.client.subscribeToStream(stream);
    const seen: unknown[] = [];
    subscription.on('data', ({ event: e }) => seen.push(e?.revision));
    await new Promise((resolve) => subscription.once('caughtUp', resolve));
    expect(seen).toEqual([4n, 5n]);
    await subscription.unsubscribe();
  });

  it('$tb above the head leaves an empty stream that still exists', async () => {
    const stream = freshStream();
    await bench.client.appendToStream(stream, events(3));
    await bench.client.setStreamMetadata(stream, { truncateBefore: 50 });
    expect(await revisions(stream)).toEqual([]);
    expect((await bench.client.appendToStream(stream, event(), { expectedRevision: 2n })).nextExpectedRevision).toBe(
      3n,
    );
  });

  it('$maxAge hides what is older', async () => {
    const stream = freshStream();
    await bench.client.appendToStream(stream, event());
    time.advance(60_000);
    await bench.client.appendToStream(stream, event());
    await bench.client.setStreamMetadata(stream, { maxAge: 30 });
    expect(await revisions(stream)).toEqual([1n]);
    time.advance(31_000);
    expect(await revisions(stream)).toEqual([]);
  });

  it('never hides anything in $all', async () => {
    const stream = freshStream();
    await bench.client.appendToStream(stream, events(6));
    await bench.client.setStreamMetadata(stream, { maxCount: 1 });
    const left = (await all(bench.client.readAll())).filter(({ event: e }) => e?.streamId === stream);
    expect(left).toHaveLength(6);
  });

  it('that is not understood counts as none', async () => {
    const stream = freshStream();
    await bench.client.appendToStream(stream, events(3));
    await bench.client.setStreamMetadata(stream, { $maxCount: 'two' } as never);
    expect(await revisions(stream)).toHaveLength(3);
  });
});
