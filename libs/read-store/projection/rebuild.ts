import { START } from '#event-store';
import { readCheckpoint } from './checkpoints.js';
import { inTransaction } from './database.js';
import { concerns } from './projection.js';
import { quoted, tableSql } from './table-sql.js';
import { RowWriter } from './writer.js';
import type { Pool, PoolClient } from 'pg';
import type { Clock, Millis } from '#kernel';
import type { EventStore, Position, RecordedEvent } from '#event-store';
import type { Checkpoint } from './checkpoints.js';
import type { Sql } from './database.js';
import type { Projection } from './projection.js';
import type { Table } from './table.js';

export interface RebuildProgress {
  readonly projection: string;
  readonly position: Position;
  /** Where the live tables were when the rebuild began, or later. */
  readonly target: Position;
  readonly events: number;
  /** 0…1, by position. */
  readonly fraction: number;
}

export interface RebuildOptions {
  readonly pool: Pool;
  readonly store: EventStore;
  readonly projection: Projection;
  readonly clock: Clock;
  /** Ends the rebuild at the next batch; the live tables stay as they are. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: RebuildProgress) => void;
  /** Events in one batch. Default 5,000. */
  readonly batchSize?: number;
}

/** Another process is rebuilding the same projection. */
export class RebuildUnderWay extends Error {
  override readonly name = 'RebuildUnderWay';
  constructor(projection: string) {
    super(`projection ${projection} is being rebuilt already`);
  }
}

/** The signal ended the rebuild; nothing changed for readers. */
export class RebuildCancelled extends Error {
  override readonly name = 'RebuildCancelled';
  constructor(projection: string) {
    super(`the rebuild of projection ${projection} was cancelled`);
  }
}

/** Progress is written down at most this often. */
const TELL_INTERVAL: Millis = 500;
/** The last events are read while the live projection waits: only this many batches before the switch may be full. */
const MAX_ROUNDS = 20;

/**
 * Fills new tables beside the live ones from the whole log and then puts them in their place. Readers see the old rows
 * until the one transaction that renames; the live runner goes on, in this or another process, and finds its checkpoint
 * where it was. The new tables carry the next generation's number in their names, so what a crash left is recognised and
 * dropped by the next rebuild.
 *
 * Throws `UnknownEventType`, `PoisonEvent`, `RebuildUnderWay` or `RebuildCancelled`; the live tables are then untouched.
 */
export const rebuildProjection = async (options: RebuildOptions): Promise<RebuildProgress> => {
  const { pool, projection } = options;
  const client = await pool.connect();
  try {
    const locked = await client.query<{ got: boolean }>('SELECT pg_try_advisory_lock(hashtextextended($1, 0)) AS got', [
      `rebuild ${projection.name}`,
    ]);
    if (!locked.rows[0]?.got) throw new RebuildUnderWay(projection.name);
    return await new Rebuild(options, client).run();
  } finally {
    // Ends the connection, and with it the lock.
    client.release(true);
  }
};

class Rebuild {
  private readonly projection: Projection;
  private position: Position = START;
  private events = 0;
  private toldAt: Millis;
  private rows!: RowWriter;
  private live!: Checkpoint;

  constructor(
    private readonly options: RebuildOptions,
    private readonly client: PoolClient,
  ) {
    this.projection = options.projection;
    this.toldAt = options.clock.now();
  }

  async run(): Promise<RebuildProgress> {
    this.live = await this.liveCheckpoint(this.client);
    this.rows = new RowWriter(this.projection, {
      capacity: 100_000,
      strict: true,
      nameOf: (table) => this.nextName(table),
    });
    await this.dropNext();
    try {
      for (const table of this.projection.tables) await this.client.query(this.sqlOf(table).create);
      await this.client.query('INSERT INTO projection_rebuilds (name, version, target) VALUES ($1, $2, $3)', [
        this.projection.name,
        this.projection.version,
        this.live.position.toString(),
      ]);
      await this.catchUp();
      return await this.finish();
    } catch (error) {
      await this.dropNext().catch(() => undefined);
      throw error;
    }
  }

  /** Reads up to where the live tables are, and again while they have moved on by much meanwhile. */
  private async catchUp(): Promise<void> {
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      const target = await this.target(this.client);
      const before = this.events;
      await this.fill(target);
      if (round === 0) await this.createIndexes();
      else if (this.events - before < this.batchSize) return;
    }
  }

  /** The rest and the switch, while the checkpoint's row keeps the live runner from committing. */
  private async finish(): Promise<RebuildProgress> {
    for (const table of this.projection.tables) await this.client.query(`ANALYZE ${quoted(this.nextName(table))}`);
    await inTransaction(this.options.pool, async (sql) => {
      // A reader in a long transaction would make the renames wait, and everybody else behind them.
      await sql.query("SET LOCAL lock_timeout = '5s'");
      const target = await this.target(sql, 'FOR UPDATE');
      await this.fillWithin(sql, target);
      this.position = target;
      for (const table of this.projection.tables) await this.replace(sql, table);
      await sql.query(
        `UPDATE projection_checkpoints SET version = $2, generation = generation + 1, position = $3, events = $4,
          state = 'live', error = NULL, updated_at = now() WHERE name = $1`,
        [this.projection.name, this.projection.version, target.toString(), this.events],
      );
      await sql.query('DELETE FROM projection_rebuilds WHERE name = $1', [this.projection.name]);
    });
    return this.tell(this.position);
  }

  private async replace(sql: Sql, table: Table): Promise<void> {
    await sql.query(tableSql(table).drop);
    await sql.query(`ALTER TABLE ${quoted(this.nextName(table))} RENAME TO ${quoted(table.name)}`);
  }

  /** Normally where the live tables are; the log's end, when they claim to be beyond it. */
  private async target(sql: Sql, lock = ''): Promise<Position> {
    const [live, head] = await Promise.all([this.liveCheckpoint(sql, lock), this.options.store.head()]);
    if (live.generation !== this.live.generation) throw new RebuildUnderWay(this.projection.name);
    return live.position < head ? live.position : head;
  }

  private async liveCheckpoint(sql: Sql, lock = ''): Promise<Checkpoint> {
    const live = await readCheckpoint(sql, this.projection.name, lock);
    if (!live) throw new Error(`projection ${this.projection.name} was never started on this database`);
    return live;
  }

  private async fill(target: Position): Promise<void> {
    for await (const batch of this.batches(target)) {
      await inTransaction(this.options.pool, (sql) => this.apply(sql, batch));
      await this.tellSometimes(target);
    }
  }

  private async fillWithin(sql: Sql, target: Position): Promise<void> {
    for await (const batch of this.batches(target)) await this.apply(sql, batch);
  }

  private async apply(sql: Sql, batch: readonly RecordedEvent[]): Promise<void> {
    this.events += await this.rows.fold(sql, batch);
    await this.rows.write(sql);
    this.rows.settle();
    this.position = batch.at(-1)?.position ?? this.position;
  }

  private async *batches(target: Position): AsyncGenerator<readonly RecordedEvent[]> {
    if (target <= this.position) return;
    const filter = { streamPrefixes: this.projection.prefixes };
    let batch: RecordedEvent[] = [];
    for await (const event of this.options.store.readAll({ after: this.position, upTo: target, filter })) {
      this.checkCancelled();
      if (concerns(this.projection, event.stream)) batch.push(event);
      if (batch.length < this.batchSize) continue;
      yield batch;
      batch = [];
    }
    this.checkCancelled();
    if (batch.length > 0) yield batch;
  }

  private checkCancelled(): void {
    if (this.options.signal?.aborted) throw new RebuildCancelled(this.projection.name);
  }

  private async createIndexes(): Promise<void> {
    for (const table of this.projection.tables) {
      for (const statement of this.sqlOf(table).createIndexes) await this.client.query(statement);
    }
  }

  private async tellSometimes(target: Position): Promise<void> {
    const now = this.options.clock.now();
    if (now - this.toldAt < TELL_INTERVAL) return;
    this.toldAt = now;
    const { position, events } = this.tell(target);
    await this.client.query(
      'UPDATE projection_rebuilds SET position = $2, target = $3, events = $4, updated_at = now() WHERE name = $1',
      [this.projection.name, position.toString(), target.toString(), events],
    );
  }

  private tell(target: Position): RebuildProgress {
    const fraction = target <= 0n ? 1 : Math.min(1, Number((this.position * 1000n) / target) / 1000);
    const { position, events } = this;
    const progress = { projection: this.projection.name, position, target, events, fraction: Math.max(0, fraction) };
    this.options.onProgress?.(progress);
    return progress;
  }

  /** Removes what this or an earlier, interrupted rebuild left. */
  private async dropNext(): Promise<void> {
    for (const table of this.projection.tables) await this.client.query(this.sqlOf(table).drop);
    await this.client.query('DELETE FROM projection_rebuilds WHERE name = $1', [this.projection.name]);
  }

  private sqlOf(table: Table): ReturnType<typeof tableSql> {
    return tableSql(table, this.nextName(table));
  }

  private nextName(table: Table): string {
    return `${table.name}__g${this.live.generation + 1}`;
  }

  private get batchSize(): number {
    return this.options.batchSize ?? 5000;
  }
}
