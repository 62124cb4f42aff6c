import { START } from '#event-store';
import type { Position } from '#event-store';
import { tableSql } from './table-sql.js';
import type { Projection } from './projection.js';
import type { Sql } from './database.js';

/** How far a projection's tables have come. */
export interface Checkpoint {
  readonly name: string;
  readonly version: number;
  /** Rises when a rebuild replaces the tables: what a writer remembers of the old ones is then void. */
  readonly generation: number;
  readonly position: Position;
  /** Events applied since the tables were first filled. */
  readonly events: bigint;
}

/** What one commit adds to a checkpoint. */
export interface Advance {
  readonly to: Position;
  readonly events: number;
}

/** The checkpoint was moved by somebody else: another runner, or a rebuild that switched. */
export class CheckpointMoved extends Error {
  override readonly name = 'CheckpointMoved';
  constructor(projection: string) {
    super(`the checkpoint of projection ${projection} was moved by another process`);
  }
}

export const readCheckpoint = async (sql: Sql, name: string, lock = ''): Promise<Checkpoint | undefined> => {
  const found = await sql.query<Record<string, string>>(
    `SELECT name, version, generation, position, events FROM projection_checkpoints WHERE name = $1 ${lock}`,
    [name],
  );
  const row = found.rows[0];
  return row && checkpointOf(row);
};

export const readCheckpoints = async (sql: Sql): Promise<Checkpoint[]> => {
  const found = await sql.query<Record<string, string>>(
    'SELECT name, version, generation, position, events FROM projection_checkpoints ORDER BY name',
  );
  return found.rows.map(checkpointOf);
};

const checkpointOf = (row: Record<string, string>): Checkpoint => ({
  name: row.name ?? '',
  version: Number(row.version),
  generation: Number(row.generation),
  position: BigInt(row.position ?? START),
  events: BigInt(row.events ?? 0),
});

/** Compare-and-set: throws `CheckpointMoved` unless the stored checkpoint is the one given and `to` is not before it. */
export const moveCheckpoint = async (sql: Sql, from: Checkpoint, advance: Advance): Promise<Checkpoint> => {
  const { to, events } = advance;
  const moved = await sql.query({
    name: 'move-checkpoint',
    text: `UPDATE projection_checkpoints
      SET position = $1, events = events + $2, updated_at = now(), state = 'live', error = NULL
      WHERE name = $3 AND generation = $4 AND position = $5 AND position <= $1`,
    values: [to.toString(), events, from.name, from.generation, from.position.toString()],
  });
  if (moved.rowCount !== 1) throw new CheckpointMoved(from.name);
  return { ...from, position: to, events: from.events + BigInt(events) };
};

/** Shows readers of the status why the projection stands still. */
export const recordFailure = async (sql: Sql, name: string, error: string): Promise<void> => {
  await sql.query(
    `UPDATE projection_checkpoints SET state = 'failed', error = $2, updated_at = now() WHERE name = $1`,
    [name, error],
  );
};

/** The checkpoint, after making the tables of a projection that is new to this database. Run it in a transaction. */
export const openProjection = async (sql: Sql, projection: Projection): Promise<Checkpoint> => {
  const { name, version } = projection;
  const inserted = await sql.query(
    `INSERT INTO projection_checkpoints (name, version, generation, position) VALUES ($1, $2, 0, $3)
      ON CONFLICT (name) DO NOTHING`,
    [name, version, START.toString()],
  );
  if (inserted.rowCount === 1) {
    for (const table of projection.tables) {
      const { create, createIndexes } = tableSql(table);
      for (const statement of [create, ...createIndexes]) await sql.query(statement);
    }
  }
  const checkpoint = await readCheckpoint(sql, name);
  if (!checkpoint) throw new Error(`the checkpoint of projection ${name} vanished`);
  return checkpoint;
};
