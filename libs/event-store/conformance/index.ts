import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { appendConformance } from './appends.js';
import { collect, numbered, uniqueName } from './fixtures.js';
import { readConformance } from './reads.js';
import { subscriptionConformance } from './subscriptions.js';
import type { EventStore } from '../port.js';
import type { StoreUnderTest } from './fixtures.js';

export {
  collect,
  mustAppend,
  numbered,
  numberedUpTo,
  numberOf,
  Recorder,
  uniqueName,
  whileSubscribed,
} from './fixtures.js';
export type { StoreUnderTest } from './fixtures.js';

/**
 * The suite that every adapter of the port runs. Each run uses stream names of its own, so it may run on a server that
 * others use at the same time. `makeStore` is called once for the suite and once more for what a new client must bear.
 */
export const eventStoreConformance = (name: string, makeStore: () => Promise<StoreUnderTest>): void => {
  describe(`event store conformance: ${name}`, () => {
    let opened: StoreUnderTest | undefined;
    const store = (): EventStore => {
      if (!opened) throw new Error('the store is not open');
      return opened.store;
    };
    beforeAll(async () => {
      opened = await makeStore();
    });
    afterAll(() => opened?.close());

    describe('append', () => appendConformance(store));
    describe('read', () => readConformance(store));
    describe('subscribe', () => subscriptionConformance(store));

    it('1,000 unawaited appends as the first act of a new client all resolve', async () => {
      const fresh = await makeStore();
      const streams = Array.from({ length: 1000 }, () => uniqueName('first'));
      const answers = await Promise.all(streams.map((stream, n) => fresh.store.append(stream, [numbered(n)], 'none')));
      expect(answers.every((answer) => answer.kind === 'appended' && answer.revision === 0n)).toBe(true);
      expect(await collect(fresh.store.readStream(streams[999] ?? ''))).toHaveLength(1);
      await fresh.close();
    });

    it('close ends subscriptions, and what comes later is refused', async () => {
      const fresh = await makeStore();
      const subscription = fresh.store.subscribe({ after: await fresh.store.head() }, { event: () => undefined });
      await fresh.close();
      await subscription.stop();
      await expect(fresh.store.append(uniqueName('late'), [numbered(0)], 'any')).rejects.toThrow(/closed/);
    });
  });
};
