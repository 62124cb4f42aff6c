import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { FakeTime, systemIds } from '#kernel';
import {
  MemoryIdempotencyStore,
  PostgresIdempotencyStore,
  PostgresPresenceStore,
  PostgresSubscriberPositions,
  ProgressStore,
  openReadStore,
} from '../index.js';
import { startTestPostgres } from '../testing/index.js';
import type { DataSource } from 'typeorm';
import type { IdempotencyStore } from '../index.js';
import type { TestPostgres } from '../testing/index.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

describe('telemetry and kept answers', () => {
  let postgres: TestPostgres;
  let source: DataSource;
  const time = new FakeTime(1_764_000_000_000);
  const warnings: string[] = [];
  const log = { warn: (_details: object, message: string): void => void warnings.push(message) };

  beforeAll(async () => {
    postgres = await startTestPostgres();
    source = await openReadStore({ url: await postgres.database() });
  });
  afterAll(async () => {
    await source.destroy();
    await postgres.stop();
  });

  it('shows a node as seen at once, and to other processes when it is written', async () => {
    const here = new PostgresPresenceStore(source, time, time, log);
    const elsewhere = new PostgresPresenceStore(source, time, time, log);
    here.start();
    here.seen('node-1', time.now(), { load: 0.5 });
    here.seen('node-1', time.now() + 5);
    expect((await here.lastSeen()).get('node-1')).toBe(time.now() + 5);
    expect((await elsewhere.lastSeen()).get('node-1')).toBeUndefined();
    const seen = time.now() + 5;
    await here.stop();
    expect((await elsewhere.lastSeen()).get('node-1')).toBe(seen);
    expect(await source.query('SELECT payload FROM node_presence')).toEqual([{ payload: { load: 0.5 } }]);
  });

  it('never lets the last message of a node go back in time', async () => {
    const store = new PostgresPresenceStore(source, time, time, log);
    store.seen('node-2', time.now());
    await store.stop();
    store.seen('node-2', time.now() - HOUR);
    await store.stop();
    expect((await store.lastSeen()).get('node-2')).toBe(time.now());
  });

  it('E-08 keeps how far a subscriber was told, and never goes back', async () => {
    const positions = new PostgresSubscriberPositions(source);
    expect(await positions.load('chat')).toBeUndefined();
    for (const position of [-1n, 2n ** 62n, 17n]) await positions.save('chat', position);
    expect(await positions.load('chat')).toBe(2n ** 62n);
    expect(await positions.load('books')).toBeUndefined();
  });

  it('keeps what could not be written until the database is back', async () => {
    const store = new PostgresPresenceStore(source, time, time, log);
    store.seen('node-3', time.now());
    await source.query('ALTER TABLE node_presence RENAME TO away');
    await store.stop();
    expect(warnings).toHaveLength(1);
    await source.query('ALTER TABLE away RENAME TO node_presence');
    await store.stop();
    expect((await store.lastSeen()).get('node-3')).toBe(time.now());
  });

  it('keeps the newest progress of an execution', async () => {
    const store = new ProgressStore(source, time, time, log);
    store.progressed({ executionId: 'job-1.1', fraction: 0.1, message: 'a' });
    store.progressed({ executionId: 'job-1.1', fraction: 0.2, message: 'b\u0000', diagnostics: { batch: 3 } });
    await store.stop();
    expect(await source.query('SELECT fraction, message, diagnostics FROM execution_progress')).toEqual([
      { fraction: 0.2, message: 'b\ufffd', diagnostics: { batch: 3 } },
    ]);
  });

  describe.each(['memory', 'postgres'] as const)('the idempotency store in %s', (kind) => {
    const make = (): IdempotencyStore =>
      kind === 'memory' ? new MemoryIdempotencyStore(time) : new PostgresIdempotencyStore(source, time);
    const aKey = (account = 'ana') => ({ account, key: systemIds.next(), fingerprint: 'f1' });
    const answer = { status: 201, body: { id: 'job-1' } };

    it('lets the first request through and gives its answer to the others', async () => {
      const [store, key] = [make(), aKey()];
      expect(await store.begin(key)).toEqual({ kind: 'new' });
      expect(await store.begin(key)).toEqual({ kind: 'running' });
      await store.finish(key, answer);
      expect(await store.begin(key)).toEqual({ kind: 'answered', answer });
    });

    it('tells a reused key from a repeated request, and one account from another', async () => {
      const [store, key] = [make(), aKey()];
      await store.begin(key);
      expect(await store.begin({ ...key, fingerprint: 'f2' })).toEqual({ kind: 'reused' });
      expect(await store.begin({ ...key, account: 'bia' })).toEqual({ kind: 'new' });
    });

    it('lets exactly one of many at once through', async () => {
      const [store, key] = [make(), aKey()];
      const outcomes = await Promise.all(Array.from({ length: 8 }, () => store.begin(key)));
      expect(outcomes.filter(({ kind: outcome }) => outcome === 'new')).toHaveLength(1);
    });

    it('frees a key whose request failed, but not one that was answered', async () => {
      const [store, key] = [make(), aKey()];
      await store.begin(key);
      await store.forget(key);
      expect(await store.begin(key)).toEqual({ kind: 'new' });
      await store.finish(key, answer);
      await store.forget(key);
      expect(await store.begin(key)).toEqual({ kind: 'answered', answer });
    });

    it('frees a key after a minute without an answer, and after a day with one', async () => {
      const [store, lost, done] = [make(), aKey(), aKey()];
      await store.begin(lost);
      await store.begin(done);
      await store.finish(done, answer);
      time.advance(MINUTE + 1);
      expect(await store.begin(lost)).toEqual({ kind: 'new' });
      expect(await store.begin(done)).toEqual({ kind: 'answered', answer });
      time.advance(24 * HOUR + 1);
      expect(await store.begin(done)).toEqual({ kind: 'new' });
    });

    it('drops what is older than a day', async () => {
      const [store, key] = [make(), aKey()];
      await store.begin(key);
      await store.finish(key, answer);
      time.advance(24 * HOUR + 1);
      expect(await store.purge()).toBeGreaterThan(0);
      expect(await store.purge()).toBe(0);
    });
  });
});
