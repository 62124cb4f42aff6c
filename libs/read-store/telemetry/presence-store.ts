import type { DataSource } from 'typeorm';
import { storableJson } from '../json-text.js';
import { PendingWrites } from './pending-writes.js';
import type { Clock, Millis, Timers } from '#kernel';
import type { TelemetryLog } from './pending-writes.js';

interface Seen {
  readonly at: Millis;
  readonly payload: object;
}

/** When each node was last heard of, shared by all processes through Postgres. */
export class PostgresPresenceStore {
  private readonly writes: PendingWrites<Seen>;

  constructor(
    private readonly source: DataSource,
    clock: Clock,
    timers: Timers,
    log: TelemetryLog,
  ) {
    this.writes = new PendingWrites<Seen>(
      timers,
      async (batch) => {
        await source.query(UPSERT, [storableJson(rowsOf(batch))]);
      },
      (error) => log.warn({ err: error, at: clock.now() }, 'presence was not written, it is tried again'),
    );
  }

  start(): void {
    this.writes.start();
  }

  stop(): Promise<void> {
    return this.writes.stop();
  }

  seen(nodeId: string, at: Millis, payload?: object): void {
    this.writes.put(nodeId, { at, payload: payload ?? this.writes.get(nodeId)?.payload ?? {} });
  }

  /** The last message of each node, what is not written yet included. */
  async lastSeen(): Promise<ReadonlyMap<string, Millis>> {
    const before = this.writes.unwritten();
    const sql = 'SELECT node_id, (extract(epoch FROM last_seen_at) * 1000)::float8 AS at FROM node_presence';
    const rows = await this.source.query<{ node_id: string; at: number }[]>(sql);
    const seen = new Map(rows.map(({ node_id, at }) => [node_id, at]));
    for (const own of [...before, ...this.writes.unwritten()]) {
      for (const [nodeId, { at }] of own) seen.set(nodeId, Math.max(at, seen.get(nodeId) ?? 0));
    }
    return seen;
  }
}

const rowsOf = (batch: ReadonlyMap<string, Seen>): object[] =>
  [...batch].map(([nodeId, { at, payload }]) => ({
    node_id: nodeId,
    last_seen_at: new Date(at).toISOString(),
    payload,
  }));

/** A heartbeat without figures keeps the figures of the one before; time never goes back. */
const UPSERT = `
  INSERT INTO node_presence (node_id, last_seen_at, payload)
  SELECT node_id, last_seen_at, payload
  FROM jsonb_to_recordset($1::jsonb) AS seen (node_id text, last_seen_at timestamptz, payload jsonb)
  ON CONFLICT (node_id) DO UPDATE SET
    last_seen_at = greatest(node_presence.last_seen_at, excluded.last_seen_at),
    payload = CASE WHEN excluded.payload = '{}'::jsonb THEN node_presence.payload ELSE excluded.payload END`;
