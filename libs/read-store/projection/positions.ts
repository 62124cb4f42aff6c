import pg from 'pg';
import { START } from '#event-store';
import { readCheckpoints } from './checkpoints.js';
import { PROJECTION_CHANNEL } from './runner.js';
import type { Millis, Timer, Timers } from '#kernel';
import type { Position } from '#event-store';

export interface ProjectionPositionsOptions {
  readonly url: string;
  readonly timers: Timers;
  /** Told of each position that somebody begins to wait for: what runs the projections in this process need not pause. */
  readonly onWait?: (position: Position) => void;
}

interface Waiter {
  readonly names: readonly string[];
  readonly position: Position;
  readonly resolve: (passed: boolean) => void;
}

const RECONNECT: Millis = 500;

/**
 * Knows how far the projections are, so that a reader can wait for its own writes. It hears of it from the runner in
 * the same process through `advance`, and from one elsewhere through Postgres' notifications.
 *
 * Modes: *listening*, from a connection until it breaks, on which the stored checkpoints are read once; *apart*, until
 * the next connection half a second later, in which waiters may time out although their position was passed.
 */
export class ProjectionPositions {
  private readonly known = new Map<string, Position>();
  private readonly waiters = new Set<Waiter>();
  private client: pg.Client | undefined;
  private reconnect: Timer | undefined;
  private stopped = false;

  constructor(private readonly options: ProjectionPositionsOptions) {}

  /** Connects; a failure is tried again by itself. */
  async start(): Promise<void> {
    if (this.stopped) return;
    const client = new pg.Client({
      connectionString: this.options.url,
      application_name: 'escalon positions',
      keepAlive: true,
      connectionTimeoutMillis: 5000,
    });
    this.client = client;
    const broken = (): void => this.comeBack(client);
    client.on('error', broken);
    client.on('end', broken);
    client.on('notification', ({ payload }) => this.hear(payload ?? ''));
    try {
      await client.connect();
      await client.query(`LISTEN ${PROJECTION_CHANNEL}`);
      for (const { name, position } of await readCheckpoints(client)) this.advance([name], position);
    } catch {
      this.comeBack(client);
    }
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.reconnect?.cancel();
    for (const waiter of [...this.waiters]) this.answer(waiter, false);
    await this.client?.end().catch(() => undefined);
  }

  /** The projections hold everything up to the position. A lower one than before is old news. */
  readonly advance = (names: readonly string[], position: Position): void => {
    for (const name of names) if (position > (this.known.get(name) ?? START)) this.known.set(name, position);
    for (const waiter of [...this.waiters]) if (this.passed(waiter.names, waiter.position)) this.answer(waiter, true);
  };

  /** True as soon as all these projections have passed the position, false when `timeout` is over first. Default 2 s. */
  waitFor(names: readonly string[], position: Position, timeout: Millis = 2000): Promise<boolean> {
    if (this.passed(names, position)) return Promise.resolve(true);
    return new Promise((resolve) => {
      const timer = this.options.timers.after(timeout, () => this.answer(waiter, false));
      const waiter: Waiter = {
        names,
        position,
        resolve: (passed) => {
          timer.cancel();
          resolve(passed);
        },
      };
      this.waiters.add(waiter);
      this.options.onWait?.(position);
    });
  }

  private passed(names: readonly string[], position: Position): boolean {
    return names.every((name) => (this.known.get(name) ?? START) >= position);
  }

  private answer(waiter: Waiter, passed: boolean): void {
    if (this.waiters.delete(waiter)) waiter.resolve(passed);
  }

  private hear(payload: string): void {
    const { names, position } = JSON.parse(payload) as { names: string[]; position: string };
    this.advance(names, BigInt(position));
  }

  private comeBack(client: pg.Client): void {
    if (this.client !== client) return;
    this.client = undefined;
    void client.end().catch(() => undefined);
    if (!this.stopped) this.reconnect = this.options.timers.after(RECONNECT, () => void this.start());
  }
}
