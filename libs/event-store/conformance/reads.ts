import { beforeAll, expect, it } from '@jest/globals';
import { START } from '../port.js';
import { collect, mustAppend, numbered, numberedUpTo, numberOf, uniqueName } from './fixtures.js';
import type { EventStore } from '../port.js';

const LONG = 2500;

/** What holds for reads. */
export const readConformance = (store: () => EventStore): void => {
  const group = uniqueName('reads');
  const long = `${group}-long`;
  const filter = { streamPrefixes: [`${group}-`] };
  let before = START;

  beforeAll(async () => {
    before = await store().head();
    for (let from = 0; from < LONG; from += 100) await mustAppend(store(), long, numberedUpTo(100, from), 'any');
  });

  it('reads a stream that does not exist as empty', async () => {
    const name = uniqueName('missing');
    expect(await collect(store().readStream(name))).toEqual([]);
    expect(await collect(store().readStreamBackwards(name))).toEqual([]);
  });

  it('reads thousands of events in order', async () => {
    const events = await collect(store().readStream(long));
    expect(events.map(numberOf)).toEqual(Array.from({ length: LONG }, (_, n) => n));
    expect(events.every(({ revision }, n) => revision === BigInt(n))).toBe(true);
  });

  it('starts and ends a stream’s read where it is told', async () => {
    const some = await collect(store().readStream(long, { from: 1995n, limit: 10 }));
    expect(some.map(({ revision }) => revision)).toEqual(Array.from({ length: 10 }, (_, n) => 1995n + BigInt(n)));
    expect(await collect(store().readStream(long, { from: BigInt(LONG) }))).toEqual([]);
    expect(await collect(store().readStream(long, { from: BigInt(LONG) + 10n }))).toEqual([]);
    expect(await collect(store().readStream(long, { limit: 0 }))).toEqual([]);
  });

  it('reads newest first from the end', async () => {
    const newest = await collect(store().readStreamBackwards(long, { limit: 3 }));
    expect(newest.map(numberOf)).toEqual([LONG - 1, LONG - 2, LONG - 3]);
    expect((await collect(store().readStreamBackwards(long))).map(numberOf)).toEqual(
      Array.from({ length: LONG }, (_, n) => LONG - 1 - n),
    );
  });

  it('a reader may leave early', async () => {
    for await (const event of store().readStream(long)) if (event.revision === 5n) break;
    for await (const event of store().readAll({ after: before })) if (event.position > before) break;
    expect((await collect(store().readStream(long, { limit: 1 }))).map(numberOf)).toEqual([0]);
  });

  it('reads the whole log in the order of positions, which are never consecutive', async () => {
    const events = await collect(store().readAll({ after: before, filter }));
    expect(events.map(numberOf)).toEqual(Array.from({ length: LONG }, (_, n) => n));
    const gaps = events.slice(1).map((event, n) => event.position - (events[n]?.position ?? 0n));
    expect(gaps.every((gap) => gap > 1n)).toBe(true);
  });

  it('gives an event the same position however it is read', async () => {
    const byStream = await collect(store().readStream(long, { from: 1200n, limit: 5 }));
    const byAll = await collect(store().readAll({ after: before, filter }));
    expect(byAll.slice(1200, 1205)).toEqual(byStream);
  });

  it('reads after a position and up to and with another', async () => {
    const all = await collect(store().readAll({ after: before, filter }));
    const [after, upTo] = [all[9], all[1499]].map((event) => event?.position);
    if (after === undefined || upTo === undefined) throw new Error('too few events');
    const some = await collect(store().readAll({ after, upTo, filter }));
    expect(some.map(numberOf)).toEqual(Array.from({ length: 1490 }, (_, n) => n + 10));
    expect(await collect(store().readAll({ after: upTo, upTo, filter }))).toEqual([]);
  });

  it('tells only of streams that match the filter, and of all but the store’s own without one', async () => {
    const [a, b, c] = [uniqueName('filter-a'), uniqueName('filter-b'), uniqueName('filter-c')];
    const head = await store().head();
    for (const [n, stream] of [a, b, c, a].entries()) await mustAppend(store(), stream, [numbered(n)]);
    const read = await collect(store().readAll({ after: head, filter: { streamPrefixes: [a, c] } }));
    expect(read.map(({ stream }) => stream)).toEqual([a, c, a]);
    const all = await collect(store().readAll({ after: head }));
    expect(all.map(({ stream }) => stream)).toEqual(expect.arrayContaining([a, b, c]));
    expect(all.filter(({ stream }) => stream.startsWith('$'))).toEqual([]);
  });

  it('knows the head', async () => {
    const head = await store().head();
    const { position } = await mustAppend(store(), uniqueName('head'), numberedUpTo(2));
    expect(position).toBeGreaterThan(head);
    expect(await store().head()).toBeGreaterThanOrEqual(position);
  });
};
