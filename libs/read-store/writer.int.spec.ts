import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import pg from 'pg';
import { systemClock } from '#kernel';
import { CheckpointMoved, entityOf, openReadStore } from './index.js';
import { openProjection } from './projection/checkpoints.js';
import { inTransaction } from './projection/database.js';
import { ProjectionWriter } from './projection/writer.js';
import {
  projectInMemory,
  recordedLog,
  startTestPostgres,
  storedContents,
  talliesTable,
  tallyProjection,
} from './testing/index.js';
import type { DataSource } from 'typeorm';
import type { RecordedEvent } from '#event-store';
import type { TestPostgres } from './testing/index.js';

const projection = tallyProjection();
const options = { capacity: 100, strict: false };

const anyLog = fc
  .array(
    fc.record({
      stream: fc.constantFrom('a', 'b', 'c'),
      part: fc.constantFrom('x', 'y'),
      amount: fc.integer({ min: -9, max: 9 }),
    }),
    { minLength: 1, maxLength: 40 },
  )
  .map((entries) =>
    recordedLog(
      entries.map(({ stream, ...data }) => [`tally-${stream}`, { type: 'Added', data: { ...data, note: 'n' } }]),
    ),
  );

/** Where the log is cut, how far each batch reaches back over what was delivered, and whether memory is lost before it. */
const anyDelivery = fc.array(
  fc.record({
    length: fc.integer({ min: 1, max: 9 }),
    back: fc.nat(6),
    forgotten: fc.boolean(),
    repeated: fc.boolean(),
  }),
  { minLength: 40, maxLength: 40 },
);

describe('a projection writer', () => {
  let postgres: TestPostgres;
  let source: DataSource;
  let pool: pg.Pool;

  beforeAll(async () => {
    postgres = await startTestPostgres();
  });
  afterAll(() => postgres.stop());

  beforeEach(async () => {
    const url = await postgres.database();
    source = await openReadStore({ url, entities: [entityOf(talliesTable)] });
    pool = new pg.Pool({ connectionString: url, max: 3 });
    // The server may be stopped before the last connection is closed.
    pool.on('error', () => undefined);
  });
  afterEach(async () => {
    await pool.end();
    await source.destroy();
  });

  const open = async (): Promise<ProjectionWriter> => {
    const checkpoint = await inTransaction(pool, (sql) => openProjection(sql, projection));
    return new ProjectionWriter(pool, projection, checkpoint, options);
  };

  const clear = async (): Promise<void> => {
    await pool.query('DELETE FROM projection_checkpoints');
    for (const { name } of projection.tables) await pool.query(`DROP TABLE IF EXISTS ${name}`);
  };

  it('gives the rows of one fold, however the log is cut, repeated and forgotten', async () => {
    await fc.assert(
      fc.asyncProperty(anyLog, anyDelivery, async (log, deliveries) => {
        await clear();
        let writer = await open();
        let next = 0;
        for (const { length, back, forgotten, repeated } of deliveries) {
          const events = log.slice(Math.max(0, next - back), next + length);
          const twice = repeated ? events.flatMap((event) => [event, event]) : events;
          next = Math.min(log.length, next + length);
          if (forgotten) writer = await open();
          await writer.commit(twice, events.at(-1)?.position ?? writer.checkpoint.position);
          if (next === log.length) break;
        }
        expect(await storedContents(pool, projection)).toEqual(projectInMemory(projection, log.slice(0, next)));
      }),
      { numRuns: 40 },
    );
  });

  it('fails a second runner instead of doubling', async () => {
    const [one, two] = recordedLog([
      ['tally-a', { type: 'Added', data: { part: 'x', amount: 1 } }],
      ['tally-a', { type: 'Added', data: { part: 'x', amount: 1 } }],
    ]) as [RecordedEvent, RecordedEvent];
    const first = await open();
    const second = await open();
    await first.commit([one], one.position);
    await expect(second.commit([one, two], two.position)).rejects.toBeInstanceOf(CheckpointMoved);
    expect((await pool.query('SELECT total FROM tallies')).rows).toEqual([{ total: 1 }]);
    await first.commit([two], two.position);
    expect((await pool.query('SELECT total FROM tallies')).rows).toEqual([{ total: 2 }]);
  });

  it('never moves a checkpoint backwards', async () => {
    const [one] = recordedLog([['tally-a', { type: 'Added', data: { part: 'x', amount: 1 } }]]) as [RecordedEvent];
    const writer = await open();
    await writer.commit([one], one.position);
    await expect(writer.commit([], one.position - 1n)).rejects.toBeInstanceOf(CheckpointMoved);
  });

  it('keeps a revision of 9007199254740993 exactly', async () => {
    const [event] = recordedLog([['tally-a', { type: 'Added', data: { part: 'x', amount: 1 } }]]) as [RecordedEvent];
    const far = { ...event, revision: 9007199254740993n, position: 9223372036854775000n };
    await (await open()).commit([far], far.position);
    const row = await source.getRepository(entityOf(talliesTable)).findOneByOrFail({ name: 'a' });
    expect(row).toMatchObject({ revision: '9007199254740993', position: '9223372036854775000' });
    expect((await open()).checkpoint.position).toBe(9223372036854775000n);
  });

  it('stores text with characters that Postgres cannot hold', async () => {
    const note = 'nul \u0000, a backslash \\u0000, a quote " and half a pair \ud83d, \udc4d, and \u{1f44d}';
    const [event] = recordedLog([['tally-a', { type: 'Added', data: { part: 'x', amount: 1, note } }]]) as [
      RecordedEvent,
    ];
    await (await open()).commit([event], event.position);
    const row = await source.getRepository(entityOf(talliesTable)).findOneByOrFail({ name: 'a' });
    expect(row.note).toBe('nul \ufffd, a backslash \\u0000, a quote " and half a pair \ufffd, \ufffd, and \u{1f44d}');
  });

  it('leaves nothing of a batch behind that fails, and goes on after it', async () => {
    const [event] = recordedLog([['tally-a', { type: 'Added', data: { part: 'x', amount: 1 } }]]) as [RecordedEvent];
    let failures = 1;
    const checkpoint = await inTransaction(pool, (sql) => openProjection(sql, projection));
    const onMoment = (moment: string): void => {
      if (moment === 'committing' && failures-- > 0) throw new Error('crash');
    };
    const writer = new ProjectionWriter(pool, projection, checkpoint, { ...options, onMoment });
    const now = systemClock.now();
    await expect(writer.commit([event], event.position)).rejects.toThrow('crash');
    expect((await pool.query('SELECT 1 FROM tallies')).rowCount).toBe(0);
    await writer.commit([event], event.position);
    expect((await pool.query('SELECT 1 FROM tallies')).rowCount).toBe(1);
    const [stored] = (await pool.query<{ updated_at: Date }>('SELECT updated_at FROM projection_checkpoints')).rows;
    expect(stored!.updated_at.getTime()).toBeGreaterThan(now - 60_000);
  });
});
