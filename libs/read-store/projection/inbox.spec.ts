import { describe, expect, it } from '@jest/globals';
import { FakeTime } from '#kernel';
import type { RecordedEvent } from '#event-store';
import { recordedLog } from '../testing/recorded.js';
import { Inbox } from './inbox.js';

const LOG = recordedLog(
  Array.from({ length: 8 }, (_, index) => [`tally-${String(index)}`, { type: 'Added', data: {} }] as const),
);
const event = (index: number): RecordedEvent => LOG[index]!;

/** An inbox from which the first event was taken, and which gathers for 50 ms. */
const gathering = async () => {
  const time = new FakeTime();
  const inbox = new Inbox(8);
  void inbox.put(event(0));
  await inbox.take(100);
  let over = false;
  const done = inbox.gather(time, 50).then(() => (over = true));
  return { time, inbox, done, over: () => Promise.resolve().then(() => over) };
};

describe('gathering events', () => {
  it('lasts its time when nobody waits', async () => {
    const { time, inbox, done, over } = await gathering();
    void inbox.put(event(1));
    time.advance(49);
    expect(await over()).toBe(false);
    time.advance(1);
    await done;
    expect(time.nextDue()).toBeUndefined();
  });

  it('ends as soon as what a reader waits for is here', async () => {
    const { time, inbox, done, over } = await gathering();
    inbox.want(event(2).position);
    void inbox.put(event(1));
    expect(await over()).toBe(false);
    void inbox.put(event(2));
    await done;
    expect(time.nextDue()).toBeUndefined();
    expect((await inbox.take(100))?.events).toEqual([event(1), event(2)]);
  });

  it('ends at once for a reader who comes after the event, and for one whom a checkpoint serves', async () => {
    const first = await gathering();
    void first.inbox.put(event(1));
    first.inbox.want(event(1).position);
    await first.done;
    const second = await gathering();
    second.inbox.want(event(3).position);
    second.inbox.passed(event(3).position);
    await second.done;
  });

  it('is not shortened by a reader of what was taken long ago', async () => {
    const { inbox, over } = await gathering();
    inbox.want(event(0).position);
    void inbox.put(event(1));
    expect(await over()).toBe(false);
  });

  it('ends when much waits, and when the inbox closes', async () => {
    const first = await gathering();
    for (const index of [1, 2, 3, 4]) void first.inbox.put(event(index));
    await first.done;
    const second = await gathering();
    second.inbox.close();
    await second.done;
  });
});
