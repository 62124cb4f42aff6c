import { beforeAll, expect, it } from '@jest/globals';
import { START } from '../port.js';
import { collect, mustAppend, numbered, numberedUpTo, Recorder, uniqueName, whileSubscribed } from './fixtures.js';
import type { EventStore, Position } from '../port.js';

/** What holds for subscriptions. */
export const subscriptionConformance = (store: () => EventStore): void => {
  let before: Position = START;
  beforeAll(async () => {
    before = await store().head();
  });
  const upTo = (count: number): number[] => Array.from({ length: count }, (_, n) => n);

  it('delivers what is stored, says that it has caught up, then delivers what comes', async () => {
    const stream = uniqueName('sub');
    await mustAppend(store(), stream, numberedUpTo(5));
    const recorder = new Recorder();
    const options = { after: before, filter: { streamPrefixes: [stream] } };
    await whileSubscribed(store().subscribe(options, recorder), async () => {
      await recorder.untilCaughtUp();
      expect(recorder.numbers()).toEqual(upTo(5));
      await mustAppend(store(), stream, numberedUpTo(5, 5));
      await recorder.untilEvents(10);
      expect(recorder.numbers()).toEqual(upTo(10));
    });
    expect(recorder.events).toEqual(await collect(store().readStream(stream)));
  });

  it('from START tells of everything from the beginning', async () => {
    const stream = uniqueName('sub');
    await mustAppend(store(), stream, numberedUpTo(3));
    const recorder = new Recorder();
    const subscription = store().subscribe({ after: START, filter: { streamPrefixes: [stream] } }, recorder);
    await whileSubscribed(subscription, () => recorder.untilEvents(3));
    expect(recorder.numbers()).toEqual(upTo(3));
  });

  it('from a position tells of what is after it', async () => {
    const stream = uniqueName('sub');
    const { position } = await mustAppend(store(), stream, numberedUpTo(4));
    await mustAppend(store(), stream, numberedUpTo(3, 4));
    const recorder = new Recorder();
    const subscription = store().subscribe({ after: position, filter: { streamPrefixes: [stream] } }, recorder);
    await whileSubscribed(subscription, () => recorder.untilEvents(3));
    expect(recorder.numbers()).toEqual([4, 5, 6]);
  });

  it('from the head tells only of what comes', async () => {
    const stream = uniqueName('sub');
    await mustAppend(store(), stream, numberedUpTo(4));
    const recorder = new Recorder();
    const options = { after: await store().head(), filter: { streamPrefixes: [stream] } };
    await whileSubscribed(store().subscribe(options, recorder), async () => {
      await recorder.untilCaughtUp();
      expect(recorder.events).toEqual([]);
      await mustAppend(store(), stream, [numbered(4)]);
      await recorder.untilEvents(1);
      expect(recorder.numbers()).toEqual([4]);
    });
  });

  it('without a filter never tells of the store’s own streams', async () => {
    const stream = uniqueName('sub');
    const after = await store().head();
    const recorder = new Recorder();
    await whileSubscribed(store().subscribe({ after }, recorder), async () => {
      await mustAppend(store(), stream, numberedUpTo(3));
      await recorder.until(() => recorder.events.filter((event) => event.stream === stream).length === 3);
    });
    expect(recorder.events.filter((event) => event.stream.startsWith('$'))).toEqual([]);
  });

  it('leaves no gap and doubles nothing between what is stored and what comes', async () => {
    const stream = uniqueName('sub');
    const total = 1200;
    await mustAppend(store(), stream, numberedUpTo(400));
    const recorder = new Recorder();
    const options = { after: before, filter: { streamPrefixes: [stream] } };
    await whileSubscribed(store().subscribe(options, recorder), async () => {
      for (let n = 400; n < total; n += 4) await mustAppend(store(), stream, numberedUpTo(4, n));
      await recorder.untilEvents(total);
    });
    expect(recorder.numbers()).toEqual(upTo(total));
    expect(recorder.failures).toEqual([]);
  });

  it('tells one event at a time and waits for its handler', async () => {
    const stream = uniqueName('sub');
    await mustAppend(store(), stream, numberedUpTo(50));
    let running = 0;
    let most = 0;
    const recorder = new Recorder(async () => {
      running += 1;
      most = Math.max(most, running);
      for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
      running -= 1;
    });
    const subscription = store().subscribe({ after: before, filter: { streamPrefixes: [stream] } }, recorder);
    await whileSubscribed(subscription, () => recorder.untilEvents(50));
    expect(recorder.numbers()).toEqual(upTo(50));
    expect(most).toBe(1);
  });

  it('stop waits for the handler under way and nothing follows', async () => {
    const stream = uniqueName('sub');
    await mustAppend(store(), stream, numberedUpTo(3));
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    let entered = (): void => undefined;
    const inside = new Promise<void>((resolve) => (entered = resolve));
    const recorder = new Recorder(() => {
      entered();
      return held;
    });
    const subscription = store().subscribe({ after: before, filter: { streamPrefixes: [stream] } }, recorder);
    await inside;
    let stopped = false;
    const stopping = subscription.stop().then(() => (stopped = true));
    await store().head();
    expect(stopped).toBe(false);
    release();
    await stopping;
    expect(recorder.numbers()).toEqual([0]);
    await mustAppend(store(), stream, [numbered(3)]);
    await store().head();
    expect(recorder.numbers()).toEqual([0]);
    await subscription.stop();
  });

  it('a handler that fails ends its subscription, with the reason, and no other', async () => {
    const stream = uniqueName('sub');
    const failing = new Recorder((event) => {
      if (event.revision === 1n) throw new Error('cannot take it');
    });
    const healthy = new Recorder();
    const options = { after: before, filter: { streamPrefixes: [stream] } };
    const subscriptions = [failing, healthy].map((recorder) => store().subscribe(options, recorder));
    await mustAppend(store(), stream, numberedUpTo(4));
    await healthy.untilEvents(4);
    await failing.until(({ failures }) => failures.length > 0);
    expect(failing.failures.map(({ message }) => message)).toEqual(['cannot take it']);
    expect(failing.numbers()).toEqual([0]);
    await Promise.all(subscriptions.map((subscription) => subscription.stop()));
  });

  it('tells how far it has looked when nothing matches', async () => {
    const [stream, other] = [uniqueName('sub'), uniqueName('other')];
    const recorder = new Recorder();
    const options = { after: await store().head(), filter: { streamPrefixes: [stream] } };
    await whileSubscribed(store().subscribe(options, recorder), async () => {
      const { position } = await mustAppend(store(), other, numberedUpTo(100));
      await recorder.until(({ checkpoints }) => (checkpoints.at(-1) ?? START) >= position);
      expect(await store().head()).toBeGreaterThanOrEqual(recorder.checkpoints.at(-1) ?? START);
    });
    expect(recorder.events).toEqual([]);
  });

  it('stopped anywhere and resumed from there, both runs together have exactly the matching events', async () => {
    const [stream, other] = [uniqueName('sub'), uniqueName('other')];
    const after = await store().head();
    for (let n = 0; n < 240; n += 3) {
      await mustAppend(store(), stream, [numbered(n)]);
      await mustAppend(store(), other, numberedUpTo(4));
      await mustAppend(store(), stream, numberedUpTo(2, n + 1));
    }
    const filter = { streamPrefixes: [stream] };
    for (const stopAt of [1, 2, 57, 150]) {
      const first = new Recorder();
      const begun = store().subscribe({ after, filter }, first);
      await whileSubscribed(begun, () => first.until(({ told }) => told.length >= stopAt));
      const reached = [first.events.at(-1)?.position ?? after, first.checkpoints.at(-1) ?? after];
      const resumeAt = reached[0] && reached[1] && reached[0] > reached[1] ? reached[0] : (reached[1] ?? after);
      const second = new Recorder();
      const rest = store().subscribe({ after: resumeAt, filter }, second);
      await whileSubscribed(rest, () => second.untilCaughtUp());
      expect([...first.numbers(), ...second.numbers()]).toEqual(upTo(240));
    }
  });

  it('positions told never go back', async () => {
    const [stream, other] = [uniqueName('sub'), uniqueName('other')];
    const places: bigint[] = [];
    const recorder = new Recorder((event) => void places.push(event.position));
    const subscriber = Object.assign(recorder, { checkpoint: (position: bigint) => void places.push(position) });
    const options = { after: await store().head(), filter: { streamPrefixes: [stream] } };
    await whileSubscribed(store().subscribe(options, subscriber), async () => {
      for (let n = 0; n < 20; n += 1) {
        await mustAppend(store(), other, numberedUpTo(40));
        await mustAppend(store(), stream, [numbered(n)]);
      }
      await recorder.untilEvents(20);
    });
    expect(places).toEqual(places.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0)));
    expect(new Set(recorder.numbers())).toEqual(new Set(upTo(20)));
  });
};
