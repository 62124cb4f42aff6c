import type { DataSource } from 'typeorm';
import { storableJson } from '../json-text.js';
import type { Clock, Millis, Timer, Timers } from '#kernel';

/** Where a store says that it could not write; nothing is lost by it but a moment's freshness. */
export interface TelemetryLog {
  warn(details: object, message: string): void;
}

/** Between two writes; many messages of a node become one row. */
const WRITE_INTERVAL: Millis = 500;

interface Seen {
  readonly at: Millis;
  readonly payload: object;
}

/**
 * When each node was last heard of, shared by all processes through Postgres.
 *
 * `seen` only remembers. From `start` to `stop` what was remembered is written every half second in one statement; when
 * the database is away it is kept, newest only, and written once it is back.
 */
export class PostgresPresenceStore {
  private pending = new Map<string, Seen>();
  /** What is being written now: the database may not show it yet. */
  private underWay: ReadonlyMap<string, Seen> = new Map();
  private timer: Timer | undefined;
  private writing: Promise<void> | undefined;

  constructor(
    private readonly source: DataSource,
    private readonly clock: Clock,
    private readonly timers: Timers,
    private readonly log: TelemetryLog,
  ) {}

  start(): void {
    this.timer = this.timers.every(WRITE_INTERVAL, () => void this.flush());
  }

  async stop(): Promise<void> {
    this.timer?.cancel();
    await this.writing;
    await this.flush();
  }

  seen(nodeId: string, at: Millis, payload?: object): void {
    const before = this.pending.get(nodeId);
    this.pending.set(nodeId, { at, payload: payload ?? before?.payload ?? {} });
  }

  /** The last message of each node, what is not written yet included. */
  async lastSeen(): Promise<ReadonlyMap<string, Millis>> {
    const { underWay } = this;
    const sql = 'SELECT node_id, (extract(epoch FROM last_seen_at) * 1000)::float8 AS at FROM node_presence';
    const rows = await this.source.query<{ node_id: string; at: number }[]>(sql);
    const seen = new Map(rows.map(({ node_id, at }) => [node_id, at]));
    for (const own of [underWay, this.underWay, this.pending]) {
      for (const [nodeId, { at }] of own) seen.set(nodeId, Math.max(at, seen.get(nodeId) ?? 0));
    }
    return seen;
  }

  private flush(): Promise<void> {
    this.writing ??= this.write().finally(() => (this.writing = undefined));
    return this.writing;
  }

  private async write(): Promise<void> {
    if (this.pending.size === 0) return;
    const batch = this.pending;
    this.underWay = batch;
    this.pending = new Map();
    try {
      await this.source.query(UPSERT, [storableJson(rowsOf(batch))]);
      this.underWay = new Map();
    } catch (error) {
      for (const [nodeId, seen] of batch) if (!this.pending.has(nodeId)) this.pending.set(nodeId, seen);
      this.log.warn({ err: error, at: this.clock.now() }, 'presence was not written, it is tried again');
    }
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
