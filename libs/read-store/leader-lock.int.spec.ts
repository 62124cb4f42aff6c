import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { systemTimers } from '#kernel';
import { LeaderLock } from './index.js';
import { startTestPostgres } from './testing/index.js';
import type { LeaderLockOptions } from './index.js';
import type { TestPostgres } from './testing/index.js';

/** What happened to a lock, in order, and a wait for the next of a kind. */
class Record {
  readonly events: string[] = [];
  private readonly waiters: { readonly event: string; readonly count: number; readonly resolve: () => void }[] = [];

  add(event: string): void {
    this.events.push(event);
    for (const waiter of this.waiters) if (this.count(waiter.event) >= waiter.count) waiter.resolve();
  }

  /** Resolves when the event has happened `count` times. */
  async times(event: string, count = 1): Promise<void> {
    if (this.count(event) >= count) return;
    await new Promise<void>((resolve) => void this.waiters.push({ event, count, resolve }));
  }

  private count(event: string): number {
    return this.events.filter((one) => one === event).length;
  }
}

describe('the leader lock', () => {
  let postgres: TestPostgres;
  let url: string;
  const locks: LeaderLock[] = [];

  beforeAll(async () => {
    postgres = await startTestPostgres();
    url = await postgres.database();
  });
  afterEach(async () => {
    await Promise.all(locks.splice(0).map((lock) => lock.stop()));
  });
  afterAll(() => postgres.stop());

  const lock = (record: Record, change: Partial<LeaderLockOptions> = {}): LeaderLock => {
    const made = new LeaderLock({
      url,
      name: 'scheduler',
      timers: systemTimers,
      interval: 50,
      onAcquired: () => record.add('acquired'),
      onLost: () => record.add('lost'),
      onTrouble: () => record.add('trouble'),
      ...change,
    });
    locks.push(made);
    made.start();
    return made;
  };

  const killHolder = async (): Promise<void> => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    await client.query(`SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted`);
    await client.end();
  };

  it('is held by one of several, and by another when that one stops', async () => {
    const [first, second] = [new Record(), new Record()];
    const holder = lock(first);
    await first.times('acquired');
    const standby = lock(second);
    expect([holder.held, standby.held]).toEqual([true, false]);
    await holder.stop();
    await second.times('acquired');
    expect([holder.held, standby.held]).toEqual([false, true]);
    expect(first.events).toEqual(['acquired']);
  });

  it('tells when its connection was lost, and competes again', async () => {
    const record = new Record();
    const holder = lock(record);
    await record.times('acquired');
    await killHolder();
    await record.times('lost');
    await record.times('acquired', 2);
    expect(holder.held).toBe(true);
    expect(record.events).toEqual(['acquired', 'lost', 'acquired']);
  });

  /** Longer than a busy machine keeps a process from its work. */
  const SILENT = 4_000;

  it('is taken from a holder that stands still, and from none that works', async () => {
    const silent = new pg.Client({ connectionString: url });
    const ended = new Promise<Error>((resolve) => silent.on('error', resolve));
    await silent.connect();
    await silent.query(`SELECT pg_advisory_lock(hashtextextended('scheduler', 0))`);
    const [other, record] = [new Record(), new Record()];
    const holder = lock(other, { name: 'projections', silentAfter: SILENT });
    await other.times('acquired');
    const rival = lock(new Record(), { name: 'projections', silentAfter: SILENT });
    lock(record, { silentAfter: SILENT });
    await record.times('acquired');
    expect((await ended).message).toMatch(/terminat/);
    expect([holder.held, rival.held, other.events]).toEqual([true, false, ['acquired']]);
  });

  it('lets others lead something else', async () => {
    const [first, second] = [new Record(), new Record()];
    lock(first);
    lock(second, { name: 'projections' });
    await Promise.all([first.times('acquired'), second.times('acquired')]);
    expect(first.events).toEqual(['acquired']);
  });

  it('waits for a database that is not there', async () => {
    const record = new Record();
    const waiting = lock(record, { url: 'postgres://nobody@127.0.0.1:1/none' });
    await record.times('trouble', 2);
    expect(waiting.held).toBe(false);
    await waiting.stop();
    expect(record.events).not.toContain('acquired');
  });

  it('refuses statements without the lock', async () => {
    const record = new Record();
    const holder = lock(record);
    await record.times('acquired');
    await holder.query('SELECT $1::text', ['held']);
    await holder.stop();
    await expect(holder.query('SELECT 1', [])).rejects.toThrow('not held');
  });
});
