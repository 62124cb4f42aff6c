import { describe, expect, it } from '@jest/globals';
import { FakeTime, seededRandom } from '#kernel';
import { eventStoreConformance } from '../conformance/index.js';
import { mustAppend, numbered, numberedUpTo, Recorder } from '../conformance/index.js';
import { EventStoreUnavailable, START } from '../port.js';
import { randomFaults } from './faults.js';
import { MemoryLog } from './log.js';
import { MemoryEventStore } from './store.js';
import type { AppendFault, DeliveryFault } from './faults.js';

eventStoreConformance('memory', async () => {
  const store = new MemoryEventStore();
  return { store, close: () => store.close() };
});

const setUp = (plan: { append?: AppendFault; delivery?: DeliveryFault; read?: 'fail' } = {}) => {
  const time = new FakeTime(1_000);
  const log = new MemoryLog();
  const used = new Set<keyof typeof plan>();
  /** Each fault happens once. */
  const once = <Fault>(key: keyof typeof plan, fault: Fault | undefined): Fault | undefined => {
    if (used.has(key) || plan[key] === undefined) return undefined;
    used.add(key);
    return fault;
  };
  const faults = {
    append: () => once('append', plan.append),
    delivery: () => once('delivery', plan.delivery),
    read: () => once('read', { kind: 'fail' as const, after: 5 }),
  };
  return { time, log, store: new MemoryEventStore({ clock: time, timers: time, log, faults }) };
};

describe('MemoryEventStore faults', () => {
  it('answers late what was stored at once', async () => {
    const { time, log, store } = setUp({ append: { kind: 'delay-answer', by: 50 } });
    const answer = store.append('s', [numbered(0)], 'none');
    await time.advanceAsync(49);
    expect(log.events).toHaveLength(1);
    expect(await Promise.race([answer, Promise.resolve('pending')])).toBe('pending');
    await time.advanceAsync(1);
    expect(await answer).toMatchObject({ kind: 'appended' });
  });

  it('lets a later append overtake a delayed request', async () => {
    const { time, store } = setUp({ append: { kind: 'delay-request', by: 50 } });
    const slow = store.append('s', [numbered(0)], 'none');
    expect(await store.append('s', [numbered(1)], 'none')).toMatchObject({ kind: 'appended' });
    await time.advanceAsync(50);
    expect(await slow).toEqual({ kind: 'conflict', actual: 0n });
  });

  it('loses the answer of an append that is stored, or fails before storing; the caller cannot tell', async () => {
    for (const [kind, stored] of [
      ['lose-answer', 1],
      ['fail-before-storing', 0],
    ] as const) {
      const { time, log, store } = setUp({ append: { kind, after: 10 } });
      const answer = expect(store.append('s', [numbered(0)], 'none')).rejects.toThrow(EventStoreUnavailable);
      await time.advanceAsync(10);
      await answer;
      expect(log.events).toHaveLength(stored);
    }
  });

  it('finds a lost answer by a retry with the same ids', async () => {
    const { time, log, store } = setUp({ append: { kind: 'retry-lost-answer', after: 10 } });
    const answer = store.append('s', numberedUpTo(2), 'none');
    await time.advanceAsync(10);
    expect(await answer).toMatchObject({ kind: 'appended', revision: 1n });
    expect(log.events).toHaveLength(2);
  });

  it('delivers an event twice', async () => {
    const { time, store } = setUp({ delivery: { kind: 'twice' } });
    await mustAppend(store, 's', numberedUpTo(2));
    const recorder = new Recorder();
    store.subscribe({ after: START }, recorder);
    await time.advanceAsync(0);
    expect(recorder.numbers()).toEqual([0, 0, 1]);
  });

  it('interrupts a subscription, which resumes where it was', async () => {
    const { time, store } = setUp({ delivery: { kind: 'interrupt', outage: 100 } });
    await mustAppend(store, 's', numberedUpTo(2));
    const recorder = new Recorder();
    store.subscribe({ after: START }, recorder);
    await time.advanceAsync(99);
    expect(recorder.told).toEqual(['down']);
    await time.advanceAsync(1);
    expect(recorder.told).toEqual(['down', 'up', 0, 1, 'caughtUp']);
  });

  it('is cut off for a span: nothing is stored or read, and subscriptions go on where they were', async () => {
    const { time, log, store } = setUp();
    await mustAppend(store, 's', [numbered(0)]);
    const [early, late] = [new Recorder(), new Recorder()];
    store.subscribe({ after: START }, early);
    await time.advanceAsync(0);
    store.cutOff(60_000);
    store.subscribe({ after: START }, late);
    const append = expect(store.append('s', [numbered(1)], 0n)).rejects.toThrow(EventStoreUnavailable);
    const read = expect(store.head()).rejects.toThrow(EventStoreUnavailable);
    const other = new MemoryEventStore({ log });
    await mustAppend(other, 's', [numbered(2)], 0n);
    await time.advanceAsync(59_999);
    await Promise.all([append, read]);
    expect(early.told).toEqual([0, 'caughtUp', 'down']);
    expect(late.told).toEqual(['down']);
    await time.advanceAsync(1);
    await mustAppend(store, 's', [numbered(3)], 1n);
    await time.advanceAsync(0);
    expect(early.told).toEqual([0, 'caughtUp', 'down', 'up', 2, 'caughtUp', 3]);
    expect(late.told).toEqual(['down', 'up', 0, 2, 'caughtUp', 3]);
  });

  it('stops during an interruption', async () => {
    const { time, store } = setUp({ delivery: { kind: 'interrupt', outage: 1e6 } });
    await mustAppend(store, 's', [numbered(0)]);
    const recorder = new Recorder();
    const subscription = store.subscribe({ after: START }, recorder);
    await time.advanceAsync(10);
    await subscription.stop();
    expect(recorder.told).toEqual(['down']);
  });

  it('fails a read', async () => {
    const { time, store } = setUp({ read: 'fail' });
    const head = expect(store.head()).rejects.toThrow(EventStoreUnavailable);
    await time.advanceAsync(5);
    await head;
    expect(await store.head()).toBe(START);
  });

  it('a crash leaves the log and silences the store', async () => {
    const { time, log, store } = setUp();
    await mustAppend(store, 's', [numbered(0)]);
    const recorder = new Recorder();
    store.subscribe({ after: START }, recorder);
    await time.advanceAsync(0);
    store.crash();
    const answer = store.append('s', [numbered(1)], 'any');
    const next = new MemoryEventStore({ clock: time, timers: time, log });
    await mustAppend(next, 's', [numbered(2)]);
    await time.advanceAsync(1_000);
    expect(await Promise.race([answer, Promise.resolve('pending')])).toBe('pending');
    expect(recorder.numbers()).toEqual([0]);
    expect(log.events.map(({ data }) => data)).toEqual([{ n: 0 }, { n: 2 }]);
  });

  it('tells the time of the clock it was given, and facts that nobody can change', async () => {
    const { log, store } = setUp();
    await mustAppend(store, 's', [numbered(0)]);
    expect(log.events[0]?.recordedAt).toBe(1_000);
    expect(() => Object.assign(log.events[0]?.data ?? {}, { n: 9 })).toThrow(TypeError);
  });

  it('the same seed gives the same history', async () => {
    const run = async (seed: number): Promise<unknown> => {
      const time = new FakeTime();
      const log = new MemoryLog();
      const rates = { delayRequest: 0.3, loseAnswer: 0.2, deliverTwice: 0.2, interrupt: 0.1, longest: 20 };
      const faults = randomFaults(seededRandom(seed), rates);
      const store = new MemoryEventStore({ clock: time, timers: time, log, faults });
      const recorder = new Recorder();
      store.subscribe({ after: START }, recorder);
      const outcomes: string[] = [];
      for (let n = 0; n < 50; n += 1) {
        const note = (outcome: string): void => void outcomes.push(`${n} ${outcome} ${time.now()}`);
        store.append(`s-${n % 3}`, [numbered(n)], 'any').then(
          ({ kind }) => note(kind),
          () => note('unknown'),
        );
        await time.advanceAsync(n % 5);
      }
      await time.advanceAsync(1_000);
      return { outcomes, told: recorder.told, stored: log.events.map(({ stream, data }) => [stream, data]) };
    };
    expect(await run(7)).toEqual(await run(7));
    expect(await run(8)).not.toEqual(await run(7));
  });
});
