import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { MemoryEventStore, MemoryLog } from '#event-store';
import { systemClock, systemIds, systemTimers } from '#kernel';
import {
  ProjectionPositions,
  ProjectionRunner,
  RebuildCancelled,
  UnknownEventType,
  migrate,
  openReadStore,
  readProjectionStatus,
  rebuildProjection,
} from './index.js';
import { partsTable, projectInMemory, startTestPostgres, storedContents, tallyProjection } from './testing/index.js';
import type { DeliveryFault, NewEvent, Position, RecordedEvent } from '#event-store';
import type { Projection, ProjectionRunnerOptions } from './index.js';
import type { TestPostgres } from './testing/index.js';

/** Something hangs: no machine is so slow. */
const HANGS = 200_000;
const MOMENTS = ['loading', 'folding', 'writing', 'moving', 'committing', 'committed'] as const;

const added = (part: string, amount: number): NewEvent => ({
  id: systemIds.next(),
  type: 'Added',
  data: { part, amount, note: 'first' },
  metadata: { schemaVersion: 1, actor: 'ana' },
});

describe('the projection runner', () => {
  let postgres: TestPostgres;
  let url: string;
  let pool: pg.Pool;
  let log: MemoryLog;
  let store: MemoryEventStore;
  let positions: ProjectionPositions;
  const runners: ProjectionRunner[] = [];

  beforeAll(async () => {
    postgres = await startTestPostgres();
  });
  afterAll(() => postgres.stop());

  beforeEach(async () => {
    url = await postgres.database();
    await (await openReadStore({ url })).destroy();
    pool = new pg.Pool({ connectionString: url, max: 5 });
    pool.on('error', () => undefined);
    log = new MemoryLog();
    store = new MemoryEventStore({ log });
    positions = new ProjectionPositions({ url, timers: systemTimers });
    await positions.start();
  });

  afterEach(async () => {
    await Promise.all(runners.splice(0).map((runner) => runner.stop()));
    await positions.stop();
    await store.close();
    await pool.end();
  });

  const run = (projections: readonly Projection[], change: Partial<ProjectionRunnerOptions> = {}): ProjectionRunner => {
    const options = { url, store, projections, clock: systemClock, timers: systemTimers };
    const runner = new ProjectionRunner({ ...options, ...change });
    runners.push(runner);
    runner.start();
    return runner;
  };

  const add = async (stream: string, ...events: readonly NewEvent[]): Promise<Position> => {
    const head = BigInt(log.stream(stream).length) - 1n;
    const result = await store.append(stream, events, head < 0n ? 'none' : head);
    if (result.kind === 'conflict') throw new Error('conflict');
    return result.position;
  };

  /** Adds `count` events over ten streams. */
  const addMany = async (count: number): Promise<Position> => {
    let last = -1n;
    for (let index = 0; index < count; index += 1)
      last = await add(`tally-${index % 10}`, added(`p${index % 3}`, index));
    return last;
  };

  const shown = async (position: Position, names: readonly string[] = ['tally'], timeout = HANGS): Promise<void> => {
    expect(await positions.waitFor(names, position, timeout)).toBe(true);
  };

  const expected = (projection: Projection): object => projectInMemory(projection, tallyEvents(log.events));
  const tallyEvents = (events: readonly RecordedEvent[]): RecordedEvent[] =>
    events.filter(({ stream }) => stream.startsWith('tally-'));

  const checkpoint = async (name = 'tally'): Promise<bigint> => {
    const found = await pool.query<{ position: string }>(
      'SELECT position FROM projection_checkpoints WHERE name = $1',
      [name],
    );
    return BigInt(found.rows[0]?.position ?? -2n);
  };

  const until = async (condition: () => boolean | Promise<boolean>): Promise<void> => {
    const deadline = systemClock.now() + HANGS;
    while (!(await condition())) {
      if (systemClock.now() > deadline) throw new Error('waited too long');
      await new Promise<void>((resolve) => void systemTimers.after(20, resolve));
    }
  };

  it('fills the tables from the log and follows it live', async () => {
    const projection = tallyProjection();
    await addMany(30);
    const runner = run([projection]);
    await shown(await addMany(30));
    expect(await storedContents(pool, projection)).toEqual(expected(projection));
    await until(() => runner.state().current);
    expect(await checkpoint()).toBe(log.head());
    const status = async (): Promise<object | undefined> =>
      (await readProjectionStatus(pool, store, [projection], systemClock))[0];
    expect(await status()).toMatchObject({
      state: 'live',
      lagEvents: 0,
      lagSeconds: 0,
      lastError: null,
      rebuild: null,
    });
    await runner.stop();
    runners.splice(0);
    expect(await status()).toMatchObject({ state: 'idle', position: log.head().toString() });
    expect(await readProjectionStatus(pool, store, [other], systemClock)).toMatchObject([{ state: 'new' }]);
  });

  it('says how old the oldest event is that is not applied, however long none came before it', async () => {
    const projection = tallyProjection();
    const first = run([projection]);
    await shown(await addMany(10));
    await until(() => first.state().current);
    await first.stop();
    runners.splice(0);
    const now = systemClock.now();
    const later = (seconds: number) => ({ now: () => now + 3_600_000 + seconds * 1_000 });
    const late = new MemoryEventStore({ log, clock: later(0) });
    await late.append('tally-0', [added('p0', 1)], 'any');
    await late.append('other-1', [added('p0', 1)], 'any');
    const [status] = await readProjectionStatus(pool, late, [projection], later(7));
    expect(status).toMatchObject({ state: 'idle', lagSeconds: 7 });
    await late.close();
  });

  it('applies an event that is delivered twice once', async () => {
    const twice: DeliveryFault = { kind: 'twice' };
    store = new MemoryEventStore({ log, faults: { delivery: () => twice } });
    const projection = tallyProjection();
    run([projection]);
    await shown(await addMany(50));
    expect(await storedContents(pool, projection)).toEqual(expected(projection));
  });

  it('applies the same event once when it is stored at two revisions', async () => {
    const projection = tallyProjection();
    run([projection]);
    const event = added('p', 5);
    await add('tally-a', event);
    await shown(await add('tally-a', event));
    const found = await pool.query('SELECT total, revision FROM tallies');
    expect(found.rows).toEqual([{ total: 5, revision: '1' }]);
  });

  for (const moment of MOMENTS) {
    it(`starts over from the stored checkpoint when it crashes at ${moment}`, async () => {
      const projection = tallyProjection();
      let crashes = 3;
      const onMoment = (at: string): void => {
        if (at === moment && crashes-- > 0) throw new Error('crash');
      };
      run([projection], { onMoment, batchSize: 7 });
      await shown(await addMany(40));
      expect(crashes).toBeLessThanOrEqual(0);
      expect(await storedContents(pool, projection)).toEqual(expected(projection));
    });
  }

  it('survives its database sessions being killed inside a transaction', async () => {
    const projection = tallyProjection();
    let kills = 2;
    const onMoment = async (at: string): Promise<void> => {
      if (at !== 'committing' || kills-- <= 0) return;
      await pool.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND application_name LIKE 'escalon projections%'`);
    };
    run([projection], { onMoment, batchSize: 7 });
    await shown(await addMany(40));
    expect(await storedContents(pool, projection)).toEqual(expected(projection));
  });

  it.each(['crash', 'shutdown'] as const)('resumes from the stored checkpoint after a %s of Postgres', async (how) => {
    // The server of the tests answers commits before they are on disk: what `migrate` made must not go with the crash.
    await pool.query('CHECKPOINT');
    const projection = tallyProjection();
    const runner = run([projection]);
    await shown(await addMany(20));
    await postgres.restart(how);
    await shown(await addMany(20));
    expect(await storedContents(pool, projection)).toEqual(expected(projection));
    await until(() => runner.state().mode === 'running');
  });

  it('resumes after the event store was away', async () => {
    let outages = 2;
    const interrupt: DeliveryFault = { kind: 'interrupt', outage: 50 };
    store = new MemoryEventStore({ log, faults: { delivery: () => (outages-- > 0 ? interrupt : undefined) } });
    const projection = tallyProjection();
    const runner = run([projection]);
    await shown(await addMany(20));
    await until(() => runner.state().current);
    expect(await storedContents(pool, projection)).toEqual(expected(projection));
  });

  it('runs in one process at a time, and the other takes over', async () => {
    const projection = tallyProjection();
    const first = run([projection]);
    await shown(await addMany(10));
    const second = run([projection]);
    await until(() => second.state().mode === 'standby');
    await shown(await addMany(10));
    expect([first.state().mode, second.state().mode]).toEqual(['running', 'standby']);
    await first.stop();
    await shown(await addMany(10));
    expect(second.state().mode).toBe('running');
    expect(await storedContents(pool, projection)).toEqual(expected(projection));
  });

  it('passes over an event type that it does not know, but not over its revision', async () => {
    const projection = tallyProjection();
    run([projection]);
    await add('tally-a', added('p', 1));
    const position = await add('tally-a', { ...added('p', 1), type: 'Invented' });
    await shown(position);
    expect((await pool.query('SELECT total, revision FROM tallies')).rows).toEqual([{ total: 1, revision: '1' }]);
    const rebuild = rebuildProjection({ pool, store, projection, clock: systemClock });
    await expect(rebuild).rejects.toBeInstanceOf(UnknownEventType);
    expect((await pool.query('SELECT total FROM tallies')).rows).toEqual([{ total: 1 }]);
  });

  it('stops at a poison event, shows it, lets the others go on, and recovers by a rebuild', async () => {
    const sound = tallyProjection();
    let broken = true;
    const failing: Projection = {
      ...other,
      project: (event, rows) => {
        if (broken && (event.data as { part: string }).part === 'bad') throw new Error('cannot add that');
        other.project(event, rows);
      },
    };
    run([sound, failing]);
    const before = await add('tally-a', added('good', 1));
    await add('tally-a', added('bad', 1));
    const last = await add('tally-a', added('good', 1));
    await shown(last, ['tally']);
    await shown(before, ['other']);
    const statusOf = async () => (await readProjectionStatus(pool, store, [failing], systemClock))[0];
    await until(async () => (await statusOf())?.state === 'failed');
    const status = await statusOf();
    expect(status).toMatchObject({ state: 'failed', position: before.toString(), lagEvents: expect.any(Number) });
    expect(status?.lastError).toMatch(/tally-a, revision 1, .*cannot add that/);
    broken = false;
    await rebuildProjection({ pool, store, projection: failing, clock: systemClock });
    await shown(last, ['other']);
    expect(await storedContents(pool, failing)).toEqual(expected(failing));
  });

  it('refuses a checkpoint ahead of the log, and says what to do', async () => {
    const projection = tallyProjection();
    const runner = run([projection]);
    await shown(await addMany(20));
    await runner.stop();
    runners.splice(0);
    const older = log;
    log = new MemoryLog();
    store = new MemoryEventStore({ log });
    await add('tally-0', added('p', 1));
    const refusing = run([projection]);
    await until(() => refusing.state().lastError !== undefined);
    expect(refusing.state().lastError).toMatch(
      new RegExp(`position ${older.head()}.*log ends at ${log.head()}.*rebuild tally`),
    );
    await rebuildProjection({ pool, store, projection, clock: systemClock });
    const position = await add('tally-0', added('p', 1));
    await until(async () => (await checkpoint()) >= position);
    expect(await storedContents(pool, projection)).toEqual(expected(projection));
  });

  it('stores how far it looked even when nothing matched', async () => {
    run([tallyProjection(), other2]);
    await shown(await add('tally-a', added('p', 1)), ['tally', 'other2']);
    await until(async () => (await checkpoint('other2')) === log.head());
  });

  it('rebuilds beside the live tables while events go on, and readers never see less', async () => {
    const projection = tallyProjection();
    run([projection]);
    await shown(await addMany(300));
    const before = (await pool.query('SELECT count(*) AS n FROM tally_entries')).rows[0] as { n: string };
    const watch = { least: Number(before.n), reads: 0, on: true };
    const reading = (async () => {
      while (watch.on) {
        const found = await pool.query<{ n: string }>('SELECT count(*) AS n FROM tally_entries');
        watch.least = Math.min(watch.least, Number(found.rows[0]?.n));
        watch.reads += 1;
      }
    })();
    const writing = addMany(200);
    const fractions: number[] = [];
    const done = await rebuildProjection({
      pool,
      store,
      projection,
      clock: systemClock,
      batchSize: 20,
      onProgress: ({ fraction }) => fractions.push(fraction),
    });
    const last = await writing;
    await shown(last);
    watch.on = false;
    await reading;
    expect(watch.least).toBe(Number(before.n));
    expect(watch.reads).toBeGreaterThan(0);
    expect(done.fraction).toBe(1);
    expect(fractions.at(-1)).toBe(1);
    await shown(await addMany(10));
    expect(await storedContents(pool, projection)).toEqual(expected(projection));
    const tables = await pool.query(`SELECT 1 FROM pg_tables WHERE tablename LIKE '%\\_\\_g%'`);
    expect(tables.rowCount).toBe(0);
  });

  it('leaves the live tables alone when a rebuild is cancelled, and clears what an interrupted one left', async () => {
    const projection = tallyProjection();
    run([projection]);
    await shown(await addMany(100));
    const before = await storedContents(pool, projection);
    await pool.query('CREATE TABLE tallies__g1 (left_over integer)');
    const ending = new AbortController();
    const cancelled = rebuildProjection({
      pool,
      store: Object.assign(Object.create(store) as MemoryEventStore, {
        readAll: (options?: Parameters<MemoryEventStore['readAll']>[0]) =>
          abortAfter(store.readAll(options), 30, ending),
      }),
      projection,
      clock: systemClock,
      batchSize: 10,
      signal: ending.signal,
    });
    await expect(cancelled).rejects.toBeInstanceOf(RebuildCancelled);
    expect(await storedContents(pool, projection)).toEqual(before);
    expect((await pool.query(`SELECT 1 FROM pg_tables WHERE tablename LIKE '%\\_\\_g%'`)).rowCount).toBe(0);
    await rebuildProjection({ pool, store, projection, clock: systemClock });
    expect(await storedContents(pool, projection)).toEqual(before);
  });

  it('replaces tables of an older version by itself, and leaves those of a newer one alone', async () => {
    const old = tallyProjection();
    const first = run([old]);
    await shown(await addMany(30));
    await first.stop();
    runners.splice(0);
    runners.splice(0);
    const next = tallyProjection({
      version: 2,
      project: (event, rows) => {
        old.project(event, rows);
        rows.put(partsTable, { part: `${event.stream}/${(event.data as { part: string }).part}`, total: 0 });
      },
    });
    const second = run([next]);
    await shown(await addMany(10));
    await until(async () => (await readProjectionStatus(pool, store, [next], systemClock))[0]?.version === 2);
    await shown(await addMany(10));
    expect(await storedContents(pool, next)).toEqual(expected(next));
    await second.stop();
    runners.splice(0);
    const third = run([old]);
    await until(() => third.state().lastError !== undefined);
    expect(third.state().lastError).toContain('its tables have version 2, this code 1');
  });

  it('tells another process how far it is', async () => {
    const elsewhere = new ProjectionPositions({ url, timers: systemTimers });
    await elsewhere.start();
    run([tallyProjection()]);
    const position = await addMany(5);
    expect(await elsewhere.waitFor(['tally'], position, HANGS)).toBe(true);
    expect(await elsewhere.waitFor(['tally'], position + 1n, 50)).toBe(false);
    await elsewhere.stop();
  });

  it('migrates once when several processes start at the same moment', async () => {
    const fresh = await postgres.database();
    const sources = await Promise.all([1, 2, 3].map(() => openReadStore({ url: fresh, poolSize: 3 })));
    await Promise.all(sources.map((source) => migrate(source)));
    const [first] = sources;
    expect(await first?.query('SELECT count(*)::int AS n FROM migrations')).toEqual([{ n: 3 }]);
    await Promise.all(sources.map((source) => source.destroy()));
  });
});

/** The tally under another name and with other tables. */
const renamed = (name: string, prefixes: readonly string[]): Projection => {
  const tally = tallyProjection();
  const tables = tally.tables.map((table) => ({ ...table, name: `${table.name}_${name}` }));
  const named = new Map(tally.tables.map((table, index) => [table, tables[index]!]));
  return {
    ...tally,
    name,
    prefixes,
    tables,
    main: named.get(tally.main) as Projection['main'],
    touches: (event) => tally.touches(event).map(([table, key]) => [named.get(table) as Projection['main'], key]),
    project: (event, rows) =>
      tally.project(event, {
        get: (table, key) => rows.get(named.get(table as never) as unknown as typeof table, key),
        put: (table, row) => rows.put(named.get(table as never) as unknown as typeof table, row),
        append: (table, row) => rows.append(named.get(table as never) as unknown as typeof table, row),
      }),
  };
};

const other = renamed('other', ['tally-']);
const other2 = renamed('other2', ['elsewhere-']);

async function* abortAfter<Item>(
  items: AsyncIterable<Item>,
  count: number,
  ending: AbortController,
): AsyncIterable<Item> {
  let seen = 0;
  for await (const item of items) {
    seen += 1;
    if (seen === count) ending.abort();
    yield item;
  }
}
