import { inTransaction, prepared } from './database.js';
import { moveCheckpoint } from './checkpoints.js';
import { tableSql } from './table-sql.js';
import { WorkingSet } from './working-set.js';
import type { Pool } from 'pg';
import type { Position, RecordedEvent } from '#event-store';
import type { Advance, Checkpoint } from './checkpoints.js';
import type { Sql } from './database.js';
import type { Projection } from './projection.js';
import type { AnyRow, KeyedTable, Table } from './table.js';
import type { TableSql } from './table-sql.js';

/** The moments of a batch at which a test may fail it. */
export type BatchMoment = 'loading' | 'folding' | 'writing' | 'moving' | 'committing' | 'committed';

export interface WriterOptions {
  /** Rows of each table kept between batches. */
  readonly capacity: number;
  /** Fails on an event type that the projection does not know, instead of passing over it. */
  readonly strict: boolean;
  /** The physical name of a table; its own by default. */
  readonly nameOf?: (table: Table) => string;
  /** Called at each moment of a batch; what it throws fails the batch there. */
  readonly onMoment?: (moment: BatchMoment, projection: string) => void | Promise<void>;
}

/**
 * Turns batches of events into rows: one read for the rows that are not in memory, the fold, one insert and one update
 * for each table. The caller supplies the transaction in which rows and checkpoint change together.
 */
export class RowWriter {
  private readonly rows: WorkingSet;
  private readonly sqls: ReadonlyMap<Table, TableSql>;
  private readonly prefix: string;

  constructor(
    readonly projection: Projection,
    private readonly options: WriterOptions,
  ) {
    const nameOf = options.nameOf ?? ((table: Table) => table.name);
    this.rows = new WorkingSet(projection, options.capacity);
    this.sqls = new Map(projection.tables.map((table) => [table, tableSql(table, nameOf(table))]));
    this.prefix = nameOf(projection.main);
  }

  /** Folds the events into rows in memory. Answers how many of them were new. */
  async fold(sql: Sql, events: readonly RecordedEvent[]): Promise<number> {
    await this.moment('loading');
    for (const [table, keys] of this.rows.missing(events)) {
      this.rows.load(table, keys, await this.read(sql, table, keys));
    }
    await this.moment('folding');
    let applied = 0;
    for (const event of events) {
      if (this.rows.apply(event, this.options.strict) === 'applied') applied += 1;
    }
    return applied;
  }

  /** Writes what the folds since the last `settle` changed. */
  async write(sql: Sql): Promise<void> {
    await this.moment('writing');
    for (const { table, inserts, updates } of this.rows.changes()) {
      const { insert, update, encode } = this.sqlOf(table);
      const name = `${this.prefix}/${table.name}`;
      if (inserts.length > 0) await prepared(sql, `${name}/insert`, insert, [encode(inserts)]);
      if (updates.length > 0) await prepared(sql, `${name}/update`, update, [encode(updates)]);
    }
  }

  /** What was written is committed. */
  settle(): void {
    this.rows.settle();
  }

  /** Forgets all rows: after a batch that failed, and when the tables may have changed. */
  reset(): void {
    this.rows.reset();
  }

  moment(moment: BatchMoment): void | Promise<void> {
    return this.options.onMoment?.(moment, this.projection.name);
  }

  private async read(sql: Sql, table: KeyedTable, keys: ReadonlySet<string>): Promise<AnyRow[]> {
    const { select, decode } = this.sqlOf(table);
    const found = await prepared(sql, `${this.prefix}/${table.name}/select`, select, [[...keys]]);
    return found.rows.map((row) => decode(row as AnyRow));
  }

  private sqlOf(table: Table): TableSql {
    const sql = this.sqls.get(table);
    if (!sql) throw new Error(`the table ${table.name} is not one of projection ${this.projection.name}`);
    return sql;
  }
}

/** A live projection: its rows and its checkpoint, moved together or not at all. */
export class ProjectionWriter {
  private readonly rows: RowWriter;

  constructor(
    private readonly pool: Pool,
    readonly projection: Projection,
    private stored: Checkpoint,
    options: WriterOptions,
  ) {
    this.rows = new RowWriter(projection, options);
  }

  get checkpoint(): Checkpoint {
    return this.stored;
  }

  /**
   * Applies the events and moves the checkpoint to `upTo` in one transaction. Throws `CheckpointMoved` when another
   * process moved it, `PoisonEvent`, or the database's error; nothing is stored then.
   */
  async commit(events: readonly RecordedEvent[], upTo: Position): Promise<number> {
    try {
      const applied = await this.rows.fold(this.pool, events);
      const advance: Advance = { to: upTo, events: applied };
      const moved = await inTransaction(this.pool, (sql) => this.store(sql, advance));
      this.stored = moved;
      this.rows.settle();
      await this.rows.moment('committed');
      return applied;
    } catch (error) {
      this.rows.reset();
      throw error;
    }
  }

  /** Starts over from what is stored now. */
  adopt(checkpoint: Checkpoint): void {
    this.stored = checkpoint;
    this.rows.reset();
  }

  /** The checkpoint first: it locks out a rebuild that wants to switch, and fails early when somebody else was here. */
  private async store(sql: Sql, advance: Advance): Promise<Checkpoint> {
    await this.rows.moment('moving');
    const moved = await moveCheckpoint(sql, this.stored, advance);
    await this.rows.write(sql);
    await this.rows.moment('committing');
    return moved;
  }
}
