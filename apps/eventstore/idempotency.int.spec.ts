import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ANY, NO_STREAM, STREAM_EXISTS } from '@eventstore/db-client';
import type { AppendExpectedRevision } from '@eventstore/db-client';
import { all, errorOf, event, events, freshStream, startBench, connectTo } from './harness.js';
import type { Bench } from './harness.js';
import { startEventStore } from './server.js';

describe('a retry with the same event ids', () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await startBench();
  });
  afterAll(() => bench.close());

  const count = async (stream: string): Promise<number> => (await all(bench.client.readStream(stream))).length;

  it.each([
    ['ANY', ANY, ANY],
    ['STREAM_EXISTS', ANY, STREAM_EXISTS],
    ['NO_STREAM', NO_STREAM, NO_STREAM],
  ] as const)('is recognised under %s', async (_name, first, again) => {
    const stream = freshStream();
    const batch = events(3);
    const stored = await bench.client.appendToStream(stream, batch, { expectedRevision: first });
    await bench.client.appendToStream(stream, event());
    const retried = await bench.client.appendToStream(stream, batch, { expectedRevision: again });
    expect(retried).toEqual(stored);
    expect(await count(stream)).toBe(4);
  });

  it('is recognised under the explicit revision below the head', async () => {
    const stream = freshStream();
    const batch = events(2);
    await bench.client.appendToStream(stream, events(5), { expectedRevision: NO_STREAM });
    const stored = await bench.client.appendToStream(stream, batch, { expectedRevision: 4n });
    await bench.client.appendToStream(stream, events(3), { expectedRevision: 6n });
    expect(await bench.client.appendToStream(stream, batch, { expectedRevision: 4n })).toEqual(stored);
    expect(await count(stream)).toBe(10);
  });

  it('is stored again under a revision equal to the head: there ids are never compared', async () => {
    const stream = freshStream();
    const same = event();
    await bench.client.appendToStream(stream, same, { expectedRevision: NO_STREAM });
    const again = await bench.client.appendToStream(stream, same, { expectedRevision: 0n });
    expect(again.nextExpectedRevision).toBe(1n);
    const read = await all(bench.client.readStream(stream));
    expect(read.map((resolved) => resolved.event?.id)).toEqual([same.id, same.id]);
  });

  it.each([
    ['ANY, first part stored', ANY, (a: unknown[], b: unknown[]) => [...a, ...b]],
    ['NO_STREAM, first part stored', NO_STREAM, (a: unknown[], b: unknown[]) => [...a, ...b]],
  ] as const)(
    'is refused when it overlaps in part: %s',
    async (_name, expectedRevision: AppendExpectedRevision, join) => {
      const stream = freshStream();
      const [stored, fresh] = [events(2), events(1)];
      await bench.client.appendToStream(stream, stored);
      const batch = join(stored, fresh) as typeof stored;
      expect(await errorOf(bench.client.appendToStream(stream, batch, { expectedRevision }))).toMatchObject({
        type: 'wrong-expected-version',
        actualVersion: 1n,
      });
      expect(await count(stream)).toBe(2);
    },
  );

  it('counts as new under ANY when its first id is new, whatever follows', async () => {
    const stream = freshStream();
    const stored = event();
    await bench.client.appendToStream(stream, stored);
    const result = await bench.client.appendToStream(stream, [event(), stored]);
    expect(result.nextExpectedRevision).toBe(2n);
  });

  it('is told apart from the same id in another stream', async () => {
    const [one, two] = [freshStream(), freshStream()];
    const same = event();
    await bench.client.appendToStream(one, same);
    expect((await bench.client.appendToStream(two, same)).nextExpectedRevision).toBe(0n);
    expect(await count(two)).toBe(1);
  });

  it('is refused when other ids stand at those revisions', async () => {
    const stream = freshStream();
    await bench.client.appendToStream(stream, events(3));
    expect(await errorOf(bench.client.appendToStream(stream, event(), { expectedRevision: 0n }))).toMatchObject({
      type: 'wrong-expected-version',
    });
  });

  it('after a restart is recognised under an explicit revision, and stored again under ANY', async () => {
    const stream = freshStream();
    const batch = events(2);
    const { client, store, file } = bench;
    const stored = await client.appendToStream(stream, batch, { expectedRevision: NO_STREAM });
    await client.dispose();
    await store.stop();
    const restarted = await startEventStore({ file });
    const other = connectTo(restarted.port);
    try {
      expect(await other.appendToStream(stream, batch, { expectedRevision: NO_STREAM })).toEqual(stored);
      expect((await other.appendToStream(stream, batch, { expectedRevision: ANY })).nextExpectedRevision).toBe(3n);
    } finally {
      await other.dispose();
      await restarted.stop();
    }
  });
});
