import type { Millis, Timer, Timers } from '#kernel';

/** Where a store says that it could not write; nothing is lost by it but a moment's freshness. */
export interface TelemetryLog {
  warn(details: object, message: string): void;
}

/** Between two writes; many messages of one thing become one row. */
const WRITE_INTERVAL: Millis = 500;

/**
 * The newest value of each key, on its way to a table.
 *
 * `put` only remembers. From `start` to `stop` what was remembered is written every half second in one go; when the
 * database is away it is kept, newest only, and written once it is back.
 */
export class PendingWrites<Value> {
  private pending = new Map<string, Value>();
  /** What is being written now: the database may not show it yet. */
  private underWay: ReadonlyMap<string, Value> = new Map();
  private timer: Timer | undefined;
  private writing: Promise<void> | undefined;

  constructor(
    private readonly timers: Timers,
    private readonly write: (batch: ReadonlyMap<string, Value>) => Promise<void>,
    private readonly onTrouble: (error: unknown) => void,
  ) {}

  start(): void {
    this.timer = this.timers.every(WRITE_INTERVAL, () => void this.flush());
  }

  async stop(): Promise<void> {
    this.timer?.cancel();
    await this.writing;
    await this.flush();
  }

  get(key: string): Value | undefined {
    return this.pending.get(key);
  }

  put(key: string, value: Value): void {
    this.pending.set(key, value);
  }

  /** What the database may not show yet, older first. */
  unwritten(): readonly ReadonlyMap<string, Value>[] {
    return [this.underWay, this.pending];
  }

  private flush(): Promise<void> {
    this.writing ??= this.writeBatch().finally(() => (this.writing = undefined));
    return this.writing;
  }

  private async writeBatch(): Promise<void> {
    if (this.pending.size === 0) return;
    const batch = this.pending;
    this.underWay = batch;
    this.pending = new Map();
    try {
      await this.write(batch);
      this.underWay = new Map();
    } catch (error) {
      for (const [key, value] of batch) if (!this.pending.has(key)) this.pending.set(key, value);
      this.onTrouble(error);
    }
  }
}
