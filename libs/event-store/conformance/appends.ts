import { expect, it } from '@jest/globals';
import { MAX_APPEND_BYTES } from '../limits.js';
import { EventTooLarge } from '../port.js';
import { collect, mustAppend, numbered, numberedUpTo, numberOf, uniqueName } from './fixtures.js';
import type { EventStore } from '../port.js';

/** What holds for appends. */
export const appendConformance = (store: () => EventStore): void => {
  it('appends to a stream that does not exist, and reads back what was written', async () => {
    const stream = uniqueName('append');
    const event = { ...numbered(7, { text: 'äöü ☃', list: [1, null, { deep: true }] }), type: 'Said' };
    const metadata = { schemaVersion: 3, actor: 'node:n1', $correlationId: 'c', $causationId: 'd' };
    const { revision, position } = await mustAppend(store(), stream, [{ ...event, metadata }], 'none');
    const [read] = await collect(store().readStream(stream));
    expect(revision).toBe(0n);
    expect(read).toEqual({ ...event, metadata, stream, revision: 0n, position, recordedAt: expect.any(Number) });
    expect(typeof read?.position).toBe('bigint');
  });

  it('refuses a wrong expected revision as a value, and stores nothing', async () => {
    const stream = uniqueName('append');
    expect(await store().append(stream, [numbered(0)], 4n)).toEqual({ kind: 'conflict', actual: 'none' });
    await mustAppend(store(), stream, numberedUpTo(3), 'none');
    expect(await store().append(stream, [numbered(9)], 'none')).toEqual({ kind: 'conflict', actual: 2n });
    expect(await store().append(stream, [numbered(9)], 1n)).toEqual({ kind: 'conflict', actual: 2n });
    expect(await store().append(stream, [numbered(9)], 3n)).toEqual({ kind: 'conflict', actual: 2n });
    expect(await mustAppend(store(), stream, [numbered(3)], 2n)).toMatchObject({ revision: 3n });
    expect((await collect(store().readStream(stream))).map(numberOf)).toEqual([0, 1, 2, 3]);
  });

  it('stores all events of an append or none, and answers with the last one’s place', async () => {
    const stream = uniqueName('append');
    const answer = await mustAppend(store(), stream, numberedUpTo(5), 'none');
    const read = await collect(store().readStream(stream));
    expect(read.map(({ revision }) => revision)).toEqual([0n, 1n, 2n, 3n, 4n]);
    expect(answer).toMatchObject({ revision: 4n, position: read[4]?.position });
    expect(await store().append(stream, numberedUpTo(5), 3n)).toEqual({ kind: 'conflict', actual: 4n });
    expect(await collect(store().readStream(stream))).toHaveLength(5);
  });

  it('exactly one of many writers at the same revision wins', async () => {
    const stream = uniqueName('append');
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => store().append(stream, [numbered(n)], 'none')),
    );
    expect(answers.filter(({ kind }) => kind === 'appended')).toHaveLength(1);
    expect(answers.filter(({ kind }) => kind === 'conflict')).toHaveLength(19);
    expect(await collect(store().readStream(stream))).toHaveLength(1);
  });

  it('knows a retry with the same ids and the same revision, and answers as the first time', async () => {
    const stream = uniqueName('append');
    const first = numberedUpTo(2);
    const second = numberedUpTo(2, 2);
    const a = await mustAppend(store(), stream, first, 'none');
    const b = await mustAppend(store(), stream, second, 1n);
    expect(await store().append(stream, second, 1n)).toMatchObject({ kind: 'appended', ...b });
    expect(await store().append(stream, first, 'none')).toMatchObject({ kind: 'appended', ...a });
    expect((await collect(store().readStream(stream))).map(numberOf)).toEqual([0, 1, 2, 3]);
  });

  it('refuses an append that overlaps what is stored only in part', async () => {
    const stream = uniqueName('append');
    const events = numberedUpTo(3);
    await mustAppend(store(), stream, events, 'none');
    const longer = [...events.slice(1), numbered(3)];
    expect(await store().append(stream, longer, 0n)).toEqual({ kind: 'conflict', actual: 2n });
    const other = [events[0], numbered(8)].filter((event) => event !== undefined);
    expect(await store().append(stream, other, 'none')).toEqual({ kind: 'conflict', actual: 2n });
    expect(await collect(store().readStream(stream))).toHaveLength(3);
  });

  it('takes the same event id at two revisions when the writer insists', async () => {
    const stream = uniqueName('append');
    const event = numbered(1);
    await mustAppend(store(), stream, [event], 'none');
    await mustAppend(store(), stream, [event], 0n);
    expect((await collect(store().readStream(stream))).map(({ id }) => id)).toEqual([event.id, event.id]);
  });

  it('under "any" appends at the end, whoever else writes', async () => {
    const stream = uniqueName('append');
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, n) => mustAppend(store(), stream, [numbered(n)], 'any')),
    );
    const revisions = answers.map(({ revision }) => revision).sort((a, b) => Number(a - b));
    expect(revisions).toEqual(Array.from({ length: 30 }, (_, n) => BigInt(n)));
  });

  it('refuses an append over the limit before it is sent, and takes one just under it', async () => {
    const stream = uniqueName('append');
    const over = numbered(0, { text: 'x'.repeat(MAX_APPEND_BYTES) });
    await expect(store().append(stream, [over], 'none')).rejects.toThrow(EventTooLarge);
    const half = () => numbered(1, { text: 'x'.repeat(MAX_APPEND_BYTES / 2) });
    await expect(store().append(stream, [half(), half()], 'none')).rejects.toThrow(EventTooLarge);
    expect(await collect(store().readStream(stream))).toHaveLength(0);
    const under = numbered(2, { text: 'x'.repeat(MAX_APPEND_BYTES - 1024) });
    expect(await mustAppend(store(), stream, [under], 'none')).toMatchObject({ revision: 0n });
    expect(await collect(store().readStream(stream))).toMatchObject([{ data: under.data }]);
  });

  it('refuses an append of no events', async () => {
    await expect(store().append(uniqueName('append'), [], 'any')).rejects.toThrow(RangeError);
  });
};
