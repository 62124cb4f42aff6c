import type { DataSource } from 'typeorm';
import type { Position } from '#event-store';

/** How far each subscriber of the log has been told, shared by all processes through Postgres. */
export class PostgresSubscriberPositions {
  constructor(private readonly source: DataSource) {}

  /** Undefined for one that was never saved. */
  async load(name: string): Promise<Position | undefined> {
    const sql = 'SELECT position FROM subscriber_positions WHERE name = $1';
    const rows = await this.source.query<{ position: string }[]>(sql, [name]);
    return rows[0] && BigInt(rows[0].position);
  }

  /** A position never goes back: of two processes that both believe to lead, the one behind changes nothing. */
  async save(name: string, position: Position): Promise<void> {
    await this.source.query(UPSERT, [name, position.toString()]);
  }
}

const UPSERT = `
  INSERT INTO subscriber_positions (name, position) VALUES ($1, $2)
  ON CONFLICT (name) DO UPDATE SET
    position = greatest(subscriber_positions.position, excluded.position), updated_at = now()`;
