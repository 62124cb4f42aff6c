import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { FakeTime, countingIds } from '#kernel';
import { event, temporaryFolder } from '../harness.js';
import { CommitQueue } from './commit-queue.js';
import type { PendingWrite } from './commit-queue.js';
import { openDatabase } from './database.js';
import { LogReader } from './reader.js';
import { RecentIds } from './recent-ids.js';
import { StreamTable } from './streams.js';
import type { WriteOutcome } from './write.js';
import { LogWriter } from './writer.js';

const openLog = (file: string) => {
  const time = new FakeTime(1_000_000);
  const database = openDatabase(file);
  const streams = new StreamTable(database, 100);
  const writer = new LogWriter(database, streams, new RecentIds(100), time, countingIds());
  const groups: number[] = [];
  const queue = new CommitQueue(database, writer, time, time, (events) => groups.push(events.length));
  const reader = new LogReader(database, streams, time);
  const write = (over: Partial<PendingWrite> = {}, stream = 's', size = 10): Promise<WriteOutcome> =>
    new Promise((resolve, reject) => {
      const [id, data] = [event().id, Buffer.alloc(size)];
      const proposed = { id, type: 'T', json: false, data, metadata: Buffer.alloc(0) };
      const request = { kind: 'append', stream, expected: { kind: 'any' }, events: [proposed] } as const;
      queue.push({ request, bytes: size, settle: resolve, fail: reject, ...over });
    });
  return { time, database, queue, reader, writer, groups, write };
};

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

describe('the commit queue', () => {
  let folder: string;
  let log: ReturnType<typeof openLog>;
  beforeEach(() => {
    folder = temporaryFolder();
    log = openLog(join(folder, 'log.db'));
  });
  afterEach(() => {
    log.database.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('commits at once after a small group, and gathers for a millisecond after a large one', async () => {
    await log.write();
    await Promise.all([log.write(), log.write(), log.write()]);
    expect(log.groups).toEqual([1, 3]);
    const gathered = log.write();
    await turn();
    const joined = log.write();
    expect(log.groups).toEqual([1, 3]);
    log.time.advance(1);
    await Promise.all([gathered, joined]);
    expect(log.groups).toEqual([1, 3, 2]);
    await log.write();
    expect(log.groups).toEqual([1, 3, 2, 1]);
  });

  it('stores nothing for a caller that is late or has left', async () => {
    const late = log.write({ expiresAt: log.time.now() });
    const left = log.write({ abandoned: () => true });
    const inTime = log.write({ expiresAt: log.time.now() + 1, abandoned: () => false });
    expect(await Promise.all([late, left, inTime])).toEqual([
      { kind: 'expired' },
      { kind: 'expired' },
      expect.objectContaining({ kind: 'stored', revision: 0 }),
    ]);
  });

  it('splits what is too much for one group and keeps the order', async () => {
    const outcomes = await Promise.all(Array.from({ length: 2500 }, () => log.write()));
    expect(log.groups).toEqual([1024, 1024, 452]);
    expect(outcomes.map((outcome) => outcome.kind === 'stored' && outcome.revision)).toEqual(
      Array.from({ length: 2500 }, (_, revision) => revision),
    );
  });

  it('asks callers to hold back when full and lets them go on when half is done', async () => {
    const writes = Array.from({ length: 40 }, (_, n) => log.write({ bytes: 1024 * 1024 }, `s-${n}`));
    expect(log.queue.full).toBe(true);
    await log.queue.room();
    expect(log.queue.full).toBe(false);
    await Promise.all(writes);
    await log.queue.drained();
  });

  it('rolls a group back whole when the disk is full, says so to all, and goes on when there is room', async () => {
    const before = await log.write({}, 'kept');
    const pages = Number(Object.values(log.database.prepare('PRAGMA page_count').get() ?? {})[0]);
    log.database.exec(`PRAGMA max_page_count = ${pages + 2}`);
    const failed = await Promise.allSettled([log.write({}, 'kept'), log.write({}, 'large', 500_000), log.write()]);
    expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    log.database.exec('PRAGMA max_page_count = 1000000');
    log.time.advance(1);
    const retried = log.write({}, 'kept');
    log.time.advance(1);
    expect([before, await retried]).toEqual([
      expect.objectContaining({ revision: 0 }),
      expect.objectContaining({ revision: 1 }),
    ]);
    expect(log.reader.allPage(0, 'forwards').events.map(({ stream }) => stream)).toEqual(['kept', 'kept']);
  });

  it('goes on after a restart with positions that rise', async () => {
    const first = await log.write();
    log.database.close();
    log = openLog(join(folder, 'log.db'));
    expect(log.writer.headPosition).toBe(first.kind === 'stored' && first.position);
    const second = await log.write();
    expect(second.kind === 'stored' && second.position).toBeGreaterThan(
      log.reader.allPage(0, 'forwards').events[0]?.position ?? Infinity,
    );
  });
});

describe('pages', () => {
  it('are bounded by bytes as well as by events', async () => {
    const folder = temporaryFolder();
    const log = openLog(join(folder, 'log.db'));
    await Promise.all(Array.from({ length: 8 }, () => log.write({}, 's', 400_000)));
    const page = log.reader.streamPage('s', 0, 'forwards');
    expect(page.kind === 'page' && [page.events.length, page.next]).toEqual([3, 3]);
    expect(log.reader.allPage(0, 'forwards')).toMatchObject({ end: false });
    log.database.close();
    rmSync(folder, { recursive: true, force: true });
  });
});
