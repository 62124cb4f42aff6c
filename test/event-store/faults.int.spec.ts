import { afterEach, describe, expect, it } from '@jest/globals';
import { EventStoreUnavailable } from '#event-store';
import { collect, mustAppend, numbered, numberedUpTo, Recorder, uniqueName } from '#event-store/conformance';
import { Proxy } from './proxy.js';
import { connect, ServerProcess, startServer } from './servers.js';
import type { AppendResult, ConnectedEventStore } from '#event-store';

/** Milliseconds after which the client library itself finds a server that stands still. */
const CLIENTS_OWN = 19_000;

/** What each test opened, closed in reverse whatever happened. */
const opened: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

const client = (url: string, options: Parameters<typeof connect>[1] = {}): ConnectedEventStore => {
  const store = connect(url, options);
  opened.push(() => store.close());
  return store;
};

const serverProcess = async (): Promise<ServerProcess> => {
  const server = await ServerProcess.start();
  opened.push(() => server.remove());
  return server;
};

const wired = async (): Promise<{ proxy: Proxy; direct: ConnectedEventStore }> => {
  const server = await startServer();
  opened.push(() => server.stop());
  const proxy = await Proxy.to(server.port);
  opened.push(() => proxy.close());
  return { proxy, direct: client(server.url) };
};

/** Follows a stream until it has so many events. */
const untilStored = async (store: ConnectedEventStore, stream: string, count: number): Promise<void> => {
  const recorder = new Recorder();
  const subscription = store.subscribe({ after: -1n, filter: { streamPrefixes: [stream] } }, recorder);
  await recorder.untilEvents(count);
  await subscription.stop();
};

describe('an append whose answer is lost', () => {
  it('is recognised by its retry: stored once, answered with its place', async () => {
    const { proxy, direct } = await wired();
    const store = client(proxy.url);
    const stream = uniqueName('lost');
    await mustAppend(store, stream, [numbered(0)], 'none');
    proxy.holdAnswers('existing');
    const answer = store.append(stream, numberedUpTo(2, 1), 0n);
    await untilStored(direct, stream, 3);
    proxy.cut();
    const stored = await collect(direct.readStream(stream));
    expect(await answer).toEqual({ kind: 'appended', revision: 2n, position: stored[2]?.position });
    expect(stored).toHaveLength(3);
  });

  it('is recognised although another writer has appended since', async () => {
    const { proxy, direct } = await wired();
    const store = client(proxy.url);
    const stream = uniqueName('lost');
    await mustAppend(store, stream, [numbered(0)], 'none');
    proxy.holdAnswers('existing');
    const answer = store.append(stream, [numbered(1)], 0n);
    await untilStored(direct, stream, 2);
    await mustAppend(direct, stream, [numbered(2)], 1n);
    proxy.cut();
    const stored = await collect(direct.readStream(stream));
    expect(await answer).toEqual({ kind: 'appended', revision: 1n, position: stored[1]?.position });
    expect(stored).toHaveLength(3);
  });

  it('under "any" is stored once', async () => {
    const { proxy, direct } = await wired();
    const store = client(proxy.url);
    const stream = uniqueName('lost');
    await mustAppend(store, stream, [numbered(0)], 'none');
    // The head is read on the other connection, so only the append's own answer is kept back.
    const answer = store.append(stream, [numbered(1)], 'any');
    proxy.holdAnswers('existing');
    await direct.head();
    proxy.cut();
    expect(await answer).toMatchObject({ kind: 'appended', revision: 1n });
    expect(await collect(direct.readStream(stream))).toHaveLength(2);
  });

  it('tells a conflict when another writer’s event is in its place', async () => {
    const { proxy, direct } = await wired();
    const stream = uniqueName('lost');
    const store = client(proxy.url);
    await mustAppend(direct, stream, [numbered(0)], 'none');
    await store.head();
    proxy.cut();
    await mustAppend(direct, stream, [numbered(1)], 0n);
    expect(await store.append(stream, [numbered(2)], 0n)).toEqual({ kind: 'conflict', actual: 1n });
  });

  it('goes over a new connection when the old one is dead without knowing it', async () => {
    const { proxy, direct } = await wired();
    const store = client(proxy.url, { timeout: 10_000 });
    const stream = uniqueName('dead');
    await mustAppend(store, stream, [numbered(0)], 'none');
    proxy.holdAnswers('existing');
    expect(await mustAppend(store, stream, [numbered(1)], 0n)).toMatchObject({ revision: 1n });
    expect(await collect(direct.readStream(stream))).toHaveLength(2);
  });

  it('is given up by our own timer, and the late answer hurts nobody', async () => {
    const { proxy, direct } = await wired();
    const store = client(proxy.url, { timeout: 3_000 });
    const stream = uniqueName('late');
    await mustAppend(store, stream, [numbered(0)], 'none');
    proxy.holdAnswers('new connections too');
    const asked = performance.now();
    await expect(store.append(stream, [numbered(1)], 0n)).rejects.toThrow(EventStoreUnavailable);
    expect(performance.now() - asked).toBeLessThan(CLIENTS_OWN);
    proxy.release();
    expect(await mustAppend(store, stream, [numbered(2)], 'any')).toMatchObject({ revision: 2n });
    expect(await collect(direct.readStream(stream))).toHaveLength(3);
  });
});

describe('bounds', () => {
  it('no more appends are under way than allowed; the others wait and then go', async () => {
    const { proxy, direct } = await wired();
    const store = client(proxy.url, { maxInFlight: 8, timeout: 60_000 });
    const prefix = uniqueName('bound');
    await mustAppend(store, `${prefix}-first`, [numbered(0)], 'none');
    proxy.holdAnswers('existing');
    const answers = Array.from({ length: 200 }, (_, n) => store.append(`${prefix}-${n}`, [numbered(n)], 'none'));
    await untilStored(direct, prefix, 9);
    const filter = { streamPrefixes: [prefix] };
    expect(await collect(direct.readAll({ filter }))).toHaveLength(9);
    proxy.release();
    const kinds = new Set((await Promise.all(answers)).map(({ kind }) => kind));
    expect([...kinds]).toEqual(['appended']);
    expect(await collect(direct.readAll({ filter }))).toHaveLength(201);
  });

  it('a slow subscriber and a slow reader hold the server back', async () => {
    const { proxy, direct } = await wired();
    const prefix = uniqueName('slow');
    const text = 'x'.repeat(20_000);
    for (let n = 0; n < 40; n += 1) {
      const events = Array.from({ length: 25 }, (_, m) => numbered(n * 25 + m, { text }));
      await mustAppend(direct, `${prefix}-${n}`, events, 'none');
    }
    const store = client(proxy.url);
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const recorder = new Recorder(() => held);
    const filter = { streamPrefixes: [prefix] };
    const subscription = store.subscribe({ after: -1n, filter }, recorder);
    const reading = store.readAll({ filter })[Symbol.asyncIterator]();
    await reading.next();
    for (let n = 0; n < 50; n += 1) await store.head();
    // Of 20 MB each, only what fits into buffers on the way has left the server.
    expect(proxy.answered).toBeLessThan(8_000_000);
    release();
    await recorder.untilEvents(1000);
    await subscription.stop();
    await reading.return?.();
  });
});

describe('a server that dies', () => {
  it('with two clients on two servers and one killed, the other’s append resolves and the process lives', async () => {
    const [first, second] = [await serverProcess(), await serverProcess()];
    const [a, b] = [client(first.url, { timeout: 5_000 }), client(second.url)];
    const streams = Array.from({ length: 50 }, () => uniqueName('two'));
    await mustAppend(a, uniqueName('warm'), [numbered(0)]);
    const onA = Promise.allSettled(streams.map((stream) => a.append(stream, [numbered(0)], 'none')));
    const onB = Promise.all(streams.map((stream) => mustAppend(b, stream, [numbered(0)], 'none')));
    await first.kill();
    expect(await onB).toHaveLength(50);
    for (const answer of await onA) {
      if (answer.status === 'rejected') expect(answer.reason).toBeInstanceOf(EventStoreUnavailable);
    }
    expect(await mustAppend(b, streams[0] ?? '', [numbered(1)], 0n)).toMatchObject({ revision: 1n });
    expect(a.status()).toMatchObject({ connected: false, lastError: expect.stringMatching(/nothing listens|closed/) });
    expect(b.status()).toMatchObject({ connected: true });
  });

  it('killed and started again under appends and a subscriber: every answer is true, nothing lost or doubled', async () => {
    const server = await serverProcess();
    const store = client(server.url, { timeout: 30_000 });
    const prefix = uniqueName('crash');
    const recorder = new Recorder();
    const subscription = store.subscribe({ after: -1n, filter: { streamPrefixes: [prefix] } }, recorder);
    const writers = Array.from({ length: 8 }, async (_, writer) => {
      const answers: AppendResult[] = [];
      for (let n = 0; n < 60; n += 1) {
        answers.push(await store.append(`${prefix}-${writer}`, [numbered(n)], n === 0 ? 'none' : BigInt(n - 1)));
      }
      return answers;
    });
    for (const enough of [60, 200]) {
      await recorder.untilEvents(enough);
      await server.kill();
      await recorder.until(({ told }) => told.at(-1) === 'down');
      expect(store.status().connected).toBe(false);
      await server.start();
    }
    const answers = (await Promise.all(writers)).flat();
    expect(answers.filter(({ kind }) => kind !== 'appended')).toEqual([]);
    await recorder.untilEvents(480);
    for (let writer = 0; writer < 8; writer += 1) {
      const told = recorder.events.filter(({ stream }) => stream === `${prefix}-${writer}`);
      expect(told.map(({ revision }) => revision)).toEqual(Array.from({ length: 60 }, (_, n) => BigInt(n)));
      expect(await collect(store.readStream(`${prefix}-${writer}`))).toEqual(told);
    }
    const places = recorder.events.map(({ position }) => position);
    expect(new Set(places).size).toBe(480);
    const outages = recorder.told.filter((told) => told === 'down' || told === 'up');
    expect(outages).toEqual(['down', 'up', 'down', 'up']);
    expect(store.status()).toMatchObject({ connected: true });
    await subscription.stop();
  });

  it('frozen: our own timer notices, and it is well again when the server wakes', async () => {
    const server = await serverProcess();
    const store = client(server.url, { timeout: 4_000 });
    const stream = uniqueName('frozen');
    await mustAppend(store, stream, [numbered(0)], 'none');
    const recorder = new Recorder();
    const subscription = store.subscribe({ after: -1n, filter: { streamPrefixes: [stream] } }, recorder);
    await recorder.untilCaughtUp();
    server.freeze();
    const asked = performance.now();
    await expect(store.append(stream, [numbered(1)], 0n)).rejects.toThrow(EventStoreUnavailable);
    expect(performance.now() - asked).toBeLessThan(CLIENTS_OWN);
    await recorder.until(({ told }) => told.includes('down'));
    expect(store.status()).toMatchObject({ connected: false, lastError: expect.stringContaining('no answer') });
    server.wake();
    await recorder.until(({ told }) => told.at(-1) === 'caughtUp' && told.includes('up'));
    const next = await store.append(stream, [numbered(2)], 1n);
    const stored = await collect(store.readStream(stream));
    // The append that was given up may or may not have been stored when the server woke: then the next one conflicts.
    expect(next.kind).toBe(stored.length === 3 ? 'appended' : 'conflict');
    await subscription.stop();
  });
});

describe('a subscription', () => {
  it('whose connection is dead without knowing it is made anew by the watchdog', async () => {
    const { proxy, direct } = await wired();
    const store = client(proxy.url, { timeout: 500, idle: 100 });
    const stream = uniqueName('watch');
    const recorder = new Recorder();
    const subscription = store.subscribe({ after: -1n, filter: { streamPrefixes: [stream] } }, recorder);
    await recorder.untilCaughtUp();
    proxy.holdAnswers('existing');
    await mustAppend(direct, stream, numberedUpTo(3), 'none');
    await recorder.untilEvents(3);
    expect(recorder.told).toEqual(expect.arrayContaining(['down', 'up']));
    expect(recorder.numbers()).toEqual([0, 1, 2]);
    await subscription.stop();
  });

  it('stops at once while the server is away', async () => {
    const server = await serverProcess();
    const store = client(server.url);
    const recorder = new Recorder();
    const subscription = store.subscribe({ after: -1n }, recorder);
    await recorder.untilCaughtUp();
    server.freeze();
    await subscription.stop();
    expect(recorder.failures).toEqual([]);
  });
});
