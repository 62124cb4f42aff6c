import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { BACKWARDS, END, FORWARDS, START, binaryEvent, jsonEvent } from '@eventstore/db-client';
import type { AllStreamResolvedEvent, Position, ResolvedEvent } from '@eventstore/db-client';
import { all, errorOf, event, events, freshStream, startBench } from './harness.js';
import type { Bench } from './harness.js';

const revisions = (list: readonly ResolvedEvent[]): bigint[] => list.map(({ event: e }) => e?.revision ?? -1n);

describe('reading a stream', () => {
  let bench: Bench;
  const stream = freshStream();
  beforeAll(async () => {
    bench = await startBench();
    await bench.client.appendToStream(stream, events(10));
  });
  afterAll(() => bench.close());

  const read = async (options: Parameters<Bench['client']['readStream']>[1]): Promise<bigint[]> =>
    revisions(await all(bench.client.readStream(stream, options)));

  it.each([
    ['forwards from the start', { direction: FORWARDS, fromRevision: START, maxCount: 3 }, [0n, 1n, 2n]],
    ['forwards from a revision', { direction: FORWARDS, fromRevision: 7n }, [7n, 8n, 9n]],
    ['forwards from beyond the end', { direction: FORWARDS, fromRevision: 10n }, []],
    ['forwards from the end', { direction: FORWARDS, fromRevision: END }, []],
    ['backwards from the end', { direction: BACKWARDS, fromRevision: END, maxCount: 2 }, [9n, 8n]],
    ['backwards from a revision', { direction: BACKWARDS, fromRevision: 2n }, [2n, 1n, 0n]],
    ['backwards from the start', { direction: BACKWARDS, fromRevision: START }, [0n]],
    ['backwards from beyond the end', { direction: BACKWARDS, fromRevision: 500n, maxCount: 1 }, [9n]],
  ] as const)('%s', async (_name, options, expected) => {
    expect(await read(options)).toEqual(expected);
  });

  it('says stream-not-found of a stream that was never written', async () => {
    const missing = freshStream();
    for (const direction of [FORWARDS, BACKWARDS] as const) {
      const error = await errorOf(all(bench.client.readStream(missing, { direction, fromRevision: START })));
      expect(error).toMatchObject({ type: 'stream-not-found', streamName: missing });
    }
  });

  it('goes on over many pages, in order, both ways, and counts right', async () => {
    const long = freshStream();
    for (let batch = 0; batch < 5; batch += 1) await bench.client.appendToStream(long, events(200));
    const forwards = revisions(await all(bench.client.readStream(long)));
    expect(forwards).toEqual(Array.from({ length: 1000 }, (_, index) => BigInt(index)));
    const backwards = bench.client.readStream(long, { direction: BACKWARDS, fromRevision: END, maxCount: 700 });
    expect(revisions(await all(backwards))).toEqual(forwards.toReversed().slice(0, 700));
  });

  it('survives a reader that leaves in the middle', async () => {
    const long = freshStream();
    await bench.client.appendToStream(long, events(900));
    for await (const resolved of bench.client.readStream(long)) if (resolved.event?.revision === 10n) break;
    expect(await all(bench.client.readStream(long, { maxCount: 1 }))).toHaveLength(1);
  });
});

describe('reading $all', () => {
  let bench: Bench;
  let list: AllStreamResolvedEvent[];
  beforeAll(async () => {
    bench = await startBench();
    for (let n = 0; n < 6; n += 1) await bench.client.appendToStream(freshStream(), events(2));
    list = await all(bench.client.readAll());
  });
  afterAll(() => bench.close());

  const at = (index: number): Position => list.at(index)?.event?.position as Position;
  const ids = (some: readonly AllStreamResolvedEvent[]): unknown[] => some.map(({ event: e }) => e?.id);

  it('has every event of every stream in the order of commit', () => {
    expect(list).toHaveLength(12);
    const commits = list.map(({ commitPosition }) => commitPosition ?? 0n);
    expect(commits.toSorted((a, b) => Number(a - b))).toEqual(commits);
  });

  it('forwards from a position includes the event there', async () => {
    expect(ids(await all(bench.client.readAll({ fromPosition: at(4), maxCount: 3 })))).toEqual(ids(list.slice(4, 7)));
  });

  it('backwards from a position begins with the event before it', async () => {
    const read = await all(bench.client.readAll({ fromPosition: at(4), direction: BACKWARDS, maxCount: 3 }));
    expect(ids(read)).toEqual(ids(list.slice(1, 4).toReversed()));
  });

  it('backwards from the end is the whole log in reverse; from the start it is nothing', async () => {
    const read = await all(bench.client.readAll({ fromPosition: END, direction: BACKWARDS }));
    expect(ids(read)).toEqual(ids(list.toReversed()));
    expect(await all(bench.client.readAll({ fromPosition: START, direction: BACKWARDS }))).toEqual([]);
  });

  it('forwards from the end, or from beyond it, is nothing', async () => {
    const beyond = { commit: at(-1).commit + 1_000_000n, prepare: at(-1).commit + 1_000_000n };
    for (const fromPosition of [END, beyond] as const) {
      expect(await all(bench.client.readAll({ fromPosition }))).toEqual([]);
    }
  });
});

describe('links', () => {
  let bench: Bench;
  const [target, links] = [freshStream(), freshStream('links')];
  const link = (data: string) => binaryEvent({ type: '$>', data: Buffer.from(data) });
  beforeAll(async () => {
    bench = await startBench();
    await bench.client.appendToStream(target, [event('First', 1), event('Second', 2), event('Third', 3)]);
    await bench.client.setStreamMetadata(target, { truncateBefore: 1 });
    const list = [link(`1@${target}`), link(`0@${target}`), link('5@nowhere'), link('nonsense')];
    await bench.client.appendToStream(links, [...list, jsonEvent({ type: 'Plain', data: {} })]);
  });
  afterAll(() => bench.close());

  it('are followed when asked for; what cannot be read is left out and the link kept', async () => {
    const read = await all(bench.client.readStream(links, { resolveLinkTos: true }));
    expect(read.map(({ event: e, link: l }) => [e?.type, e?.streamId, l?.type, l?.revision])).toEqual([
      ['Second', target, '$>', 0n],
      [undefined, undefined, '$>', 1n],
      [undefined, undefined, '$>', 2n],
      ['$>', links, undefined, undefined],
      ['Plain', links, undefined, undefined],
    ]);
    expect(read[0]?.commitPosition).toBe(read[0]?.link?.position?.commit);
  });

  it('are events like any other when not', async () => {
    const read = await all(bench.client.readStream(links));
    expect(read.map(({ event: e, link: l }) => [e?.type, l])).toEqual([
      ...Array.from({ length: 4 }, () => ['$>', undefined]),
      ['Plain', undefined],
    ]);
  });

  it('are followed by a live subscription', async () => {
    const subscription = bench.client.subscribeToStream(links, { fromRevision: END, resolveLinkTos: true });
    const next = new Promise<ResolvedEvent>((resolve) => subscription.once('data', resolve));
    await new Promise((resolve) => subscription.once('caughtUp', resolve));
    await bench.client.appendToStream(links, link(`2@${target}`));
    expect((await next).event?.type).toBe('Third');
    await subscription.unsubscribe();
  });
});
