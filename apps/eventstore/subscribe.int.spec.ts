import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { END, START, eventTypeFilter, excludeSystemEvents, streamNameFilter } from '@eventstore/db-client';
import type { AllStreamSubscription, Filter, Position, StreamSubscription } from '@eventstore/db-client';
import { all, errorOf, event, events, freshStream, signal, startBench } from './harness.js';
import type { Bench } from './harness.js';

interface Seen {
  readonly subscription: StreamSubscription | AllStreamSubscription;
  readonly ids: string[];
  readonly log: string[];
  /** Resolves when that many events have come. */
  reach(count: number): Promise<void>;
}

/** Writes down all that a subscription says. */
const watch = (subscription: StreamSubscription | AllStreamSubscription): Seen => {
  const ids: string[] = [];
  const log: string[] = [];
  const waiting: { count: number; resolve: () => void }[] = [];
  subscription.on('data', (resolved: { event?: { id: string } }) => {
    ids.push(resolved.event?.id ?? '');
    log.push('event');
    for (const { count, resolve } of waiting) if (ids.length >= count) resolve();
  });
  for (const name of ['confirmation', 'caughtUp', 'fellBehind'] as const) subscription.on(name, () => log.push(name));
  subscription.on('error', () => log.push('error'));
  const reach = (count: number): Promise<void> =>
    new Promise((resolve) => {
      if (ids.length >= count) resolve();
      else waiting.push({ count, resolve });
    });
  return { subscription, ids, log, reach };
};

const caughtUp = (subscription: StreamSubscription | AllStreamSubscription): Promise<void> =>
  new Promise((resolve) => subscription.once('caughtUp', resolve));

describe('a subscription to a stream', () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await startBench();
  });
  afterAll(() => bench.close());

  it('confirms, catches up, says so, and goes on live', async () => {
    const stream = freshStream();
    const [before, after] = [events(300), events(3)];
    await bench.client.appendToStream(stream, before);
    const seen = watch(bench.client.subscribeToStream(stream));
    await caughtUp(seen.subscription);
    await bench.client.appendToStream(stream, after);
    await seen.reach(303);
    expect(seen.ids).toEqual([...before, ...after].map(({ id }) => id));
    expect(seen.log).toEqual(['confirmation', ...before.map(() => 'event'), 'caughtUp', ...after.map(() => 'event')]);
    expect(seen.subscription.id).toMatch(/^[0-9a-f-]{36}$/);
    await seen.subscription.unsubscribe();
  });

  it('starts after the revision given', async () => {
    const stream = freshStream();
    const list = events(5);
    await bench.client.appendToStream(stream, list);
    const seen = watch(bench.client.subscribeToStream(stream, { fromRevision: 2n }));
    await caughtUp(seen.subscription);
    expect(seen.ids).toEqual(list.slice(3).map(({ id }) => id));
    await seen.subscription.unsubscribe();
  });

  it('from the end sees only what comes', async () => {
    const stream = freshStream();
    await bench.client.appendToStream(stream, events(5));
    const seen = watch(bench.client.subscribeToStream(stream, { fromRevision: END }));
    await caughtUp(seen.subscription);
    const later = event();
    await bench.client.appendToStream(stream, later);
    await seen.reach(1);
    expect(seen.ids).toEqual([later.id]);
    await seen.subscription.unsubscribe();
  });

  it('waits for a stream that does not exist yet', async () => {
    const stream = freshStream();
    const seen = watch(bench.client.subscribeToStream(stream));
    await caughtUp(seen.subscription);
    const first = event();
    await bench.client.appendToStream(stream, first);
    await seen.reach(1);
    expect(seen.ids).toEqual([first.id]);
    await seen.subscription.unsubscribe();
  });

  it('outlives a soft deletion and ends with an error when the stream is tombstoned', async () => {
    const stream = freshStream();
    await bench.client.appendToStream(stream, event());
    const subscription = bench.client.subscribeToStream(stream);
    const failure = new Promise<unknown>((resolve) => subscription.once('error', resolve));
    const seen = watch(subscription);
    await caughtUp(subscription);
    await bench.client.deleteStream(stream);
    await bench.client.appendToStream(stream, event());
    await seen.reach(2);
    await bench.client.tombstoneStream(stream);
    expect(await failure).toMatchObject({ type: 'stream-deleted', streamName: stream });
  });

  it('of a tombstoned stream is refused', async () => {
    const stream = freshStream();
    await bench.client.tombstoneStream(stream);
    const subscription = bench.client.subscribeToStream(stream);
    const failure = new Promise<unknown>((resolve) => subscription.once('error', resolve));
    watch(subscription);
    expect(await failure).toMatchObject({ type: 'stream-deleted' });
  });
});

describe('a subscription to $all', () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await startBench();
  });
  afterAll(() => bench.close());

  it('misses nothing and repeats nothing while appends go on through its catch-up', async () => {
    const appended: string[] = [];
    const appendSome = async (): Promise<void> => {
      for (let n = 0; n < 60; n += 1) {
        const batch = events(10);
        await bench.client.appendToStream(freshStream('busy'), batch);
        appended.push(...batch.map(({ id }) => id));
      }
    };
    await appendSome();
    const filter = streamNameFilter({ prefixes: ['busy-'] });
    const plain = watch(bench.client.subscribeToAll());
    const filtered = watch(bench.client.subscribeToAll({ filter }));
    await Promise.all([appendSome(), appendSome()]);
    await Promise.all([plain.reach(1800), filtered.reach(1800)]);
    expect(new Set(plain.ids)).toEqual(new Set(appended));
    const inLog = (await all(bench.client.readAll())).map(({ event: e }) => e?.id);
    expect(plain.ids).toEqual(inLog);
    expect(filtered.ids).toEqual(inLog);
    await Promise.all([plain, filtered].map(({ subscription }) => subscription.unsubscribe()));
  });

  it('starts after the position given, and stopping anywhere and resuming gives each event once', async () => {
    const stream = freshStream();
    await bench.client.appendToStream(stream, events(40));
    const whole = await all(bench.client.readAll());
    for (const cut of [0, 17, whole.length - 1]) {
      const fromPosition = whole[cut]?.event?.position as Position;
      const seen = watch(bench.client.subscribeToAll({ fromPosition }));
      await caughtUp(seen.subscription);
      expect(seen.ids).toEqual(whole.slice(cut + 1).map(({ event: e }) => e?.id));
      await seen.subscription.unsubscribe();
    }
  });

  it('from a position ahead of the log stays silent about what is before it', async () => {
    const ahead = 10n ** 15n;
    const seen = watch(bench.client.subscribeToAll({ fromPosition: { commit: ahead, prepare: ahead } }));
    const control = watch(bench.client.subscribeToAll({ fromPosition: END }));
    await Promise.all([caughtUp(seen.subscription), caughtUp(control.subscription)]);
    await bench.client.appendToStream(freshStream(), event());
    await control.reach(1);
    expect(seen.ids).toEqual([]);
    await Promise.all([seen, control].map(({ subscription }) => subscription.unsubscribe()));
  });

  it('keeps a slow reader whole without holding up the others', async () => {
    const body = 'x'.repeat(20_000);
    const slow = bench.client.subscribeToAll({ fromPosition: END, filter: streamNameFilter({ prefixes: ['slow-'] }) });
    const fast = watch(bench.client.subscribeToAll({ fromPosition: END }));
    const start = signal();
    const received: string[] = [];
    const reading = (async () => {
      for await (const resolved of slow) {
        if (received.length === 0) await start.promise;
        received.push(resolved.event?.id ?? '');
        if (received.length === 1500) break;
      }
    })();
    await Promise.all([caughtUp(fast.subscription), caughtUp(slow)]);
    const sent: string[] = [];
    for (let n = 0; n < 150; n += 1) {
      const batch = events(10, 'Big').map((e) => ({ ...e, metadata: { body } }));
      await bench.client.appendToStream(freshStream('slow'), batch);
      sent.push(...batch.map(({ id }) => id));
    }
    await fast.reach(1500);
    start.resolve();
    await reading;
    expect(received).toEqual(sent);
    await fast.subscription.unsubscribe();
  });
});

describe('a filtered subscription', () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await startBench();
    for (let n = 0; n < 100; n += 1) {
      await bench.client.appendToStream(`${n % 2 === 0 ? 'even' : 'odd'}-${n}`, event(n % 5 === 0 ? 'Fifth' : 'Other'));
    }
    await bench.client.setStreamMetadata('even-0', { maxCount: 10 });
  });
  afterAll(() => bench.close());

  const streamsOf = async (filter: Filter): Promise<string[]> => {
    const subscription = bench.client.subscribeToAll({ filter, fromPosition: START });
    const streams: string[] = [];
    subscription.on('data', ({ event: e }) => streams.push(`${e?.streamId}:${e?.type}`));
    await caughtUp(subscription);
    await subscription.unsubscribe();
    return streams;
  };

  it('takes prefixes and regexes, of stream names and of event types', async () => {
    expect(await streamsOf(streamNameFilter({ prefixes: ['even-1', 'odd-9'] }))).toHaveLength(11);
    expect(await streamsOf(streamNameFilter({ regex: '^odd-\\d$' }))).toHaveLength(5);
    expect(await streamsOf(eventTypeFilter({ prefixes: ['Fif'] }))).toHaveLength(20);
    expect(await streamsOf(eventTypeFilter({ regex: '(?i)^FIFTH$' }))).toHaveLength(20);
    expect(await streamsOf(eventTypeFilter({ prefixes: [] }))).toEqual([]);
  });

  it('can leave system events out', async () => {
    expect(await streamsOf(excludeSystemEvents())).toHaveLength(100);
    expect(await streamsOf(eventTypeFilter({ regex: '.*' }))).toHaveLength(101);
  });

  it('refuses a regex that cannot be read', async () => {
    const subscription = bench.client.subscribeToAll({ filter: streamNameFilter({ regex: '(' }) });
    const failure = new Promise((_resolve, reject) => subscription.once('error', reject));
    subscription.on('data', () => undefined);
    expect(await errorOf(failure)).toMatchObject({ code: 3 });
  });

  it('gets a checkpoint every 32 × interval events considered, at the last one considered', async () => {
    const whole = await all(bench.client.readAll());
    for (const interval of [1, 2]) {
      const checkpoints: bigint[] = [];
      const checkpointReached = (_: unknown, position: Position): Promise<void> => {
        checkpoints.push(position.commit);
        return Promise.resolve();
      };
      await streamsOf(streamNameFilter({ prefixes: ['none-'], checkpointInterval: interval, checkpointReached }));
      const due = whole.filter((_, index) => (index + 1) % (32 * interval) === 0);
      expect(checkpoints).toEqual(due.map(({ commitPosition }) => commitPosition));
      expect(checkpoints.length).toBeGreaterThan(0);
    }
  });

  it('goes on counting from catch-up into live, and resumes from a checkpoint without a gap', async () => {
    const before = (await all(bench.client.readAll())).length;
    const reached = signal<Position>();
    const filter = streamNameFilter({
      prefixes: ['wanted-'],
      checkpointInterval: 1,
      checkpointReached: (_, position) => {
        if (position.commit > head) reached.resolve(position);
        return Promise.resolve();
      },
    });
    const head = (await all(bench.client.readAll())).at(-1)?.commitPosition ?? 0n;
    const seen = watch(bench.client.subscribeToAll({ filter }));
    await caughtUp(seen.subscription);
    const missing = 32 - (before % 32);
    await bench.client.appendToStream('unwanted-1', events(missing - 1));
    const wanted = event();
    const last = await bench.client.appendToStream('wanted-1', wanted);
    expect((await reached.promise).commit).toBe(last.position?.commit);
    await seen.subscription.unsubscribe();
    const next = event();
    await bench.client.appendToStream('wanted-1', next);
    const resumed = watch(bench.client.subscribeToAll({ filter, fromPosition: await reached.promise }));
    await resumed.reach(1);
    expect([...seen.ids, ...resumed.ids]).toEqual([wanted.id, next.id]);
    await resumed.subscription.unsubscribe();
  });
});
