import type { DataSource } from 'typeorm';
import { storableJson } from '../json-text.js';
import type { Clock, Millis, Timer, Timers } from '#kernel';
import type { TelemetryLog } from './presence-store.js';

export interface Progress {
  readonly executionId: string;
  /** 0…1. */
  readonly fraction: number;
  readonly message: string;
  readonly diagnostics?: object;
}

const WRITE_INTERVAL: Millis = 500;

/** The latest progress of each execution. Remembered at once, written every half second, the newest only. */
export class ProgressStore {
  private pending = new Map<string, Progress & { readonly at: Millis }>();
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

  progressed(progress: Progress): void {
    this.pending.set(progress.executionId, { ...progress, at: this.clock.now() });
  }

  private flush(): Promise<void> {
    this.writing ??= this.write().finally(() => (this.writing = undefined));
    return this.writing;
  }

  private async write(): Promise<void> {
    if (this.pending.size === 0) return;
    const batch = this.pending;
    this.pending = new Map();
    const rows = [...batch.values()].map(({ executionId, fraction, message, diagnostics = {}, at }) => ({
      execution_id: executionId,
      fraction,
      message,
      diagnostics,
      at: new Date(at).toISOString(),
    }));
    try {
      await this.source.query(UPSERT, [storableJson(rows)]);
    } catch (error) {
      for (const [executionId, one] of batch) if (!this.pending.has(executionId)) this.pending.set(executionId, one);
      this.log.warn({ err: error }, 'progress was not written, it is tried again');
    }
  }
}

const UPSERT = `
  INSERT INTO execution_progress (execution_id, fraction, message, diagnostics, at)
  SELECT execution_id, fraction, message, diagnostics, at
  FROM jsonb_to_recordset($1::jsonb)
    AS tick (execution_id text, fraction float8, message text, diagnostics jsonb, at timestamptz)
  ON CONFLICT (execution_id) DO UPDATE SET
    fraction = excluded.fraction, message = excluded.message, diagnostics = excluded.diagnostics, at = excluded.at
  WHERE execution_progress.at <= excluded.at`;
