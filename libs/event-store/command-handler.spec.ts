import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { accept, countingIds, FakeTime, reject, seededRandom } from '#kernel';
import { CommandHandler, ContendedStream } from './command-handler.js';
import { randomFaults } from './memory/faults.js';
import { MemoryLog } from './memory/log.js';
import { MemoryEventStore } from './memory/store.js';
import { EventStoreUnavailable, EventTooLarge } from './port.js';
import type { Handled, StreamDecider } from './command-handler.js';
import type { AppendFault } from './memory/faults.js';

/** A purse: it never goes below nothing, and each deposit counts once by its key. */
type Command =
  | { readonly type: 'put'; readonly key: string; readonly amount: number; readonly note?: string }
  | { readonly type: 'take'; readonly amount: number }
  | { readonly type: 'break' };
type Event =
  | { readonly type: 'Put'; readonly data: { readonly key: string; readonly amount: number; readonly note?: string } }
  | { readonly type: 'Taken'; readonly data: { readonly amount: number } };
interface Purse {
  readonly amount: number;
  readonly keys: readonly string[];
}

const purse: StreamDecider<Command, Event, Purse> = {
  initialState: () => ({ amount: 0, keys: [] }),
  decide: (command, state) => {
    switch (command.type) {
      case 'put': {
        const { key, amount, note } = command;
        const data = { key, amount, ...(note === undefined ? {} : { note }) };
        return state.keys.includes(key) ? accept() : accept({ type: 'Put', data });
      }
      case 'take':
        return command.amount > state.amount
          ? reject('NOT_ENOUGH', `${state.amount} is less than ${command.amount}`)
          : accept({ type: 'Taken', data: { amount: command.amount } });
      case 'break':
        throw new TypeError('broken');
    }
  },
  evolve: (state, event) =>
    event.type === 'Put'
      ? { amount: state.amount + event.data.amount, keys: [...state.keys, event.data.key] }
      : { ...state, amount: state.amount - event.data.amount },
};

const context = { actor: 'ana' };
const put = (key: string, amount = 1): Command => ({ type: 'put', key, amount });
const take = (amount: number): Command => ({ type: 'take', amount });

const setUp = (faults?: (stream: string) => AppendFault | undefined) => {
  const time = new FakeTime();
  const log = new MemoryLog();
  const ids = countingIds();
  const appends: number[] = [];
  const store = new MemoryEventStore({
    clock: time,
    timers: time,
    log,
    faults: {
      append: (stream, events) => {
        appends.push(events.length);
        return faults?.(stream);
      },
    },
  });
  const other = new MemoryEventStore({ clock: time, timers: time, log });
  return { time, log, store, other, ids, appends, handler: new CommandHandler(purse, store, ids) };
};

describe('CommandHandler', () => {
  it('stores what is decided and answers with state, revision and position', async () => {
    const { handler, log } = setUp();
    const handled = await handler.handle('purse-1', put('a', 5), { ...context, correlationId: 'c', causationId: 'd' });
    expect(handled).toEqual({
      kind: 'done',
      state: { amount: 5, keys: ['a'] },
      revision: 0n,
      position: log.head(),
      events: 1,
    });
    expect(log.events[0]?.metadata).toEqual({
      schemaVersion: 1,
      actor: 'ana',
      $correlationId: 'c',
      $causationId: 'd',
    });
  });

  it('begins a stream without reading it, and reads one that turns out to be there', async () => {
    const { handler, store, other, log } = setUp();
    const reads: string[] = [];
    const readStream = store.readStream.bind(store);
    store.readStream = (stream, options) => {
      reads.push(stream);
      return readStream(stream, options);
    };
    expect(await handler.handle('purse-1', put('a', 5), context)).toMatchObject({ revision: 0n });
    expect(reads).toEqual([]);
    await new CommandHandler(purse, other, countingIds(1)).handle('purse-2', put('a', 3), context);
    expect(await handler.handle('purse-2', put('b', 4), context)).toMatchObject({ revision: 1n, state: { amount: 7 } });
    expect(reads).toEqual(['purse-2']);
    expect(log.events).toHaveLength(3);
  });

  it('answers a refusal as a value and stores nothing', async () => {
    const { handler, log } = setUp();
    const handled = await handler.handle('purse-1', take(1), context);
    expect(handled).toMatchObject({ kind: 'rejected', rejection: { code: 'NOT_ENOUGH' }, revision: undefined });
    expect(log.events).toHaveLength(0);
  });

  it('answers a decision without events from the present revision and position', async () => {
    const { handler, log } = setUp();
    expect(await handler.handle('purse-1', put('a'), context)).toMatchObject({ events: 1 });
    const again = await handler.handle('purse-1', put('a'), context);
    expect(again).toMatchObject({ kind: 'done', events: 0, revision: 0n, position: log.head() });
  });

  it('stores commands that arrive together in one append, in order, each with its own answer', async () => {
    const { handler, log, appends } = setUp();
    const answers = await Promise.all([
      handler.handle('purse-1', put('a', 3), context),
      handler.handle('purse-1', take(9), { actor: 'bea' }),
      handler.handle('purse-1', take(2), { actor: 'cid' }),
      handler.handle('purse-1', take(2), { actor: 'dan' }),
    ]);
    expect(answers.map(({ kind }) => kind)).toEqual(['done', 'rejected', 'done', 'rejected']);
    expect(answers[1]).toMatchObject({ state: { amount: 3 } });
    expect(answers[3]).toMatchObject({ state: { amount: 1 }, revision: 1n });
    expect(appends).toEqual([2]);
    expect(log.events.map((event) => [event.type, event.metadata.actor])).toEqual([
      ['Put', 'ana'],
      ['Taken', 'cid'],
    ]);
  });

  it('decides what arrived during an append together afterwards', async () => {
    const { handler, time, appends } = setUp(() => ({ kind: 'delay-answer', by: 10 }));
    const first = handler.handle('purse-1', put('a'), context);
    await time.advanceAsync(5);
    const rest = [put('b'), put('c'), put('d')].map((command) => handler.handle('purse-1', command, context));
    await time.advanceAsync(20);
    await Promise.all([first, ...rest]);
    expect(appends).toEqual([1, 3]);
  });

  it('a command that throws fails alone', async () => {
    const { handler } = setUp();
    const answers = await Promise.allSettled([
      handler.handle('purse-1', put('a'), context),
      handler.handle('purse-1', { type: 'break' }, context),
      handler.handle('purse-1', put('b'), context),
    ]);
    expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  });

  it('compares an expected revision with the one of the command’s turn', async () => {
    const { handler, log } = setUp();
    const answers = await Promise.all([
      handler.handle('purse-1', put('a'), { ...context, expected: 0n }),
      handler.handle('purse-1', put('b'), context),
      handler.handle('purse-1', put('c'), { ...context, expected: 0n }),
      handler.handle('purse-1', put('d'), { ...context, expected: 0n }),
    ]);
    expect(answers).toMatchObject([
      { kind: 'revision-mismatch', actual: 'none' },
      { kind: 'done', revision: 0n },
      { kind: 'done', revision: 1n },
      { kind: 'revision-mismatch', actual: 1n },
    ]);
    expect(log.events).toHaveLength(2);
  });

  it('does not answer from a state that another process has changed', async () => {
    const { handler, other, ids } = setUp();
    const elsewhere = new CommandHandler(purse, other, ids);
    await handler.handle('purse-1', put('a', 1), context);
    await elsewhere.handle('purse-1', put('b', 5), context);
    expect(await handler.handle('purse-1', take(6), context)).toMatchObject({ kind: 'done', revision: 2n });
    await elsewhere.handle('purse-1', put('c', 5), context);
    const stale = await handler.handle('purse-1', put('d'), { ...context, expected: 2n });
    expect(stale).toEqual({ kind: 'revision-mismatch', actual: 3n });
    expect(await handler.load('purse-1')).toEqual({ state: { amount: 5, keys: ['a', 'b', 'c'] }, revision: 3n });
  });

  it('gives up after the allowed conflicts, and stores nothing', async () => {
    const { store, other, ids, log } = setUp();
    let rivals = 0;
    const contended = new MemoryEventStore({ log });
    contended.append = async (stream, events, expected) => {
      const metadata = { schemaVersion: 1, actor: 'rival' };
      const rival = { id: ids.next(), type: 'Put', data: { key: `r${(rivals += 1)}`, amount: 1 }, metadata };
      await other.append(stream, [rival], 'any');
      return store.append(stream, events, expected);
    };
    const handler = new CommandHandler(purse, contended, ids, { maxConflicts: 3 });
    await expect(handler.handle('purse-1', put('a'), context)).rejects.toThrow(ContendedStream);
    expect(rivals).toBe(4);
    expect(log.events.every(({ metadata }) => metadata.actor === 'rival')).toBe(true);
  });

  it('fails a whole batch whose outcome is unknown, and goes on from what is stored', async () => {
    let faulty = true;
    const { handler, time, log } = setUp(() => (faulty ? { kind: 'lose-answer', after: 1 } : undefined));
    const batch = [put('a'), take(9), put('b')].map((command) => handler.handle('purse-1', command, context));
    const settled = Promise.allSettled(batch);
    await time.advanceAsync(1);
    for (const answer of await settled) {
      expect(answer).toMatchObject({ status: 'rejected', reason: expect.any(EventStoreUnavailable) });
    }
    faulty = false;
    expect(await handler.handle('purse-1', put('a'), context)).toMatchObject({ kind: 'done', events: 0, revision: 1n });
    expect(log.events).toHaveLength(2);
  });

  it('an event over the limit fails its own command only', async () => {
    const { handler, log } = setUp();
    const big: Command = { type: 'put', key: 'big', amount: 1, note: 'x'.repeat(1024 * 1024) };
    const answers = await Promise.allSettled([
      handler.handle('purse-1', put('a'), context),
      handler.handle('purse-1', big, context),
      handler.handle('purse-1', put('b'), context),
    ]);
    expect(answers).toMatchObject([
      { status: 'fulfilled' },
      { status: 'rejected', reason: expect.any(EventTooLarge) },
      { status: 'fulfilled' },
    ]);
    expect(log.events).toHaveLength(2);
  });

  it('writes schema versions and reads through upcasters', async () => {
    const { store, ids, log } = setUp();
    const old = { id: ids.next(), type: 'PutInCents', data: { key: 'old', cents: 300 } };
    await store.append('purse-1', [{ ...old, metadata: { schemaVersion: 1, actor: 'ana' } }], 'none');
    const decider: typeof purse = {
      ...purse,
      schemaVersion: (type) => (type === 'Put' ? 2 : 1),
      upcast: ({ type, data }) =>
        type === 'PutInCents'
          ? { type: 'Put', data: { key: 'old', amount: (data as { cents: number }).cents / 100 } }
          : ({ type, data } as Event),
    };
    const handler = new CommandHandler(decider, store, ids);
    expect(await handler.handle('purse-1', put('new', 1), context)).toMatchObject({ state: { amount: 4 } });
    expect(log.events[1]?.metadata.schemaVersion).toBe(2);
  });

  it('starts over when the stream was truncated beyond the state it kept', async () => {
    const { store, ids, log } = setUp();
    const handler = new CommandHandler(purse, store, ids);
    await handler.handle('purse-1', put('a', 2), context);
    const elsewhere = new CommandHandler(purse, new MemoryEventStore({ log }), ids);
    await elsewhere.handle('purse-1', put('b', 2), context);
    await elsewhere.handle('purse-1', put('c', 2), context);
    const readStream = store.readStream.bind(store);
    store.readStream = (name, options) => readStream(name, { from: (options?.from ?? 0n) > 2n ? 3n : 2n });
    expect(await handler.load('purse-1')).toEqual({ state: { amount: 2, keys: ['c'] }, revision: 2n });
  });
});

describe('CommandHandler beside another on the same log', () => {
  const step = fc.record({
    who: fc.nat({ max: 1 }),
    stream: fc.constantFrom('purse-1', 'purse-2'),
    command: fc.oneof(
      fc.record({ type: fc.constant('put' as const), key: fc.string({ maxLength: 2 }), amount: fc.nat({ max: 5 }) }),
      fc.record({ type: fc.constant('take' as const), amount: fc.integer({ min: 1, max: 5 }) }),
    ),
    pause: fc.nat({ max: 3 }),
  });

  it('loses no update, stores each answered command once and never goes below nothing', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), fc.nat(), async (steps, seed) => {
        const time = new FakeTime();
        const log = new MemoryLog();
        const ids = countingIds();
        const rates = { delayRequest: 0.2, delayAnswer: 0.2, loseAnswer: 0.05, retryLostAnswer: 0.1, longest: 4 };
        const faults = randomFaults(seededRandom(seed), { ...rates, failBeforeStoring: 0.05, delayRead: 0.2 });
        const handlers = [0, 1].map(
          () => new CommandHandler(purse, new MemoryEventStore({ clock: time, timers: time, log, faults }), ids),
        );
        const answers: Promise<Handled<Purse> | 'unknown'>[] = [];
        for (const { who, stream, command, pause } of steps) {
          const handled = handlers[who]?.handle(stream, command, context) as Promise<Handled<Purse>>;
          answers.push(handled.catch(() => 'unknown' as const));
          await time.advanceAsync(pause);
        }
        await time.advanceAsync(10_000);
        const outcomes = await Promise.all(answers);
        for (const name of ['purse-1', 'purse-2']) {
          const events = log.stream(name) as unknown as readonly Event[];
          const amounts = events.reduce<number[]>((sums, event) => {
            const change = event.type === 'Put' ? event.data.amount : -event.data.amount;
            return [...sums, (sums.at(-1) ?? 0) + change];
          }, []);
          expect(amounts.every((amount) => amount >= 0)).toBe(true);
          const keys = events.flatMap((event) => (event.type === 'Put' ? [event.data.key] : []));
          expect(new Set(keys).size).toBe(keys.length);
          const mine = outcomes.filter((_, index) => steps[index]?.stream === name);
          const stored = mine.reduce(
            (sum, one) => sum + (one !== 'unknown' && one.kind === 'done' ? one.events : 0),
            0,
          );
          const unknown = mine.filter((one) => one === 'unknown').length;
          expect(events.length).toBeGreaterThanOrEqual(stored);
          expect(events.length).toBeLessThanOrEqual(stored + unknown);
        }
      }),
      { numRuns: 60 },
    );
  });
});
