import type { DataSource } from 'typeorm';
import { storableJson } from '../json-text.js';
import { PendingWrites } from './pending-writes.js';
import type { Clock, Millis, Timers } from '#kernel';
import type { TelemetryLog } from './pending-writes.js';

export interface Progress {
  readonly executionId: string;
  /** 0…1. */
  readonly fraction: number;
  readonly message: string;
  readonly diagnostics?: object;
}

type Tick = Progress & { readonly at: Millis };

/** The latest progress of each execution. */
export class ProgressStore {
  private readonly writes: PendingWrites<Tick>;

  constructor(
    source: DataSource,
    private readonly clock: Clock,
    timers: Timers,
    log: TelemetryLog,
  ) {
    this.writes = new PendingWrites<Tick>(
      timers,
      async (batch) => {
        await source.query(UPSERT, [storableJson(rowsOf(batch))]);
      },
      (error) => log.warn({ err: error }, 'progress was not written, it is tried again'),
    );
  }

  start(): void {
    this.writes.start();
  }

  stop(): Promise<void> {
    return this.writes.stop();
  }

  progressed(progress: Progress): void {
    this.writes.put(progress.executionId, { ...progress, at: this.clock.now() });
  }
}

const rowsOf = (batch: ReadonlyMap<string, Tick>): object[] =>
  [...batch.values()].map(({ executionId, fraction, message, diagnostics = {}, at }) => ({
    execution_id: executionId,
    fraction,
    message,
    diagnostics,
    at: new Date(at).toISOString(),
  }));

const UPSERT = `
  INSERT INTO execution_progress (execution_id, fraction, message, diagnostics, at)
  SELECT execution_id, fraction, message, diagnostics, at
  FROM jsonb_to_recordset($1::jsonb)
    AS tick (execution_id text, fraction float8, message text, diagnostics jsonb, at timestamptz)
  ON CONFLICT (execution_id) DO UPDATE SET
    fraction = excluded.fraction, message = excluded.message, diagnostics = excluded.diagnostics, at = excluded.at
  WHERE execution_progress.at <= excluded.at`;
