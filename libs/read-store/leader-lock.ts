import pg from 'pg';
import type { Millis, Timer, Timers } from '#kernel';

export interface LeaderLockOptions {
  /** `postgres://…`. */
  readonly url: string;
  /** What is led. Processes that give the same name to the same database compete. */
  readonly name: string;
  readonly timers: Timers;
  /** Between two tries, and between two looks whether the lock still holds. Default 1 s. */
  readonly interval?: Millis;
  /** A holder that has not looked for so long is taken to stand still, and those who stand by end its session. Default 10 s. */
  readonly silentAfter?: Millis;
  readonly onAcquired: () => void;
  /** The lock may be somebody else's from now on. Not called by `stop`. */
  readonly onLost: (cause: Error) => void;
  /** The database cannot be reached; the next try follows by itself. */
  readonly onTrouble?: (error: Error) => void;
}

/** An unanswered question to the database counts as a lost connection after this time. */
const ANSWER_TIMEOUT: Millis = 5000;
const SILENT_AFTER: Millis = 10_000;

const TRY = 'SELECT pg_try_advisory_lock(hashtextextended($1, 0)) AS got';
/** A holder that waits for its statement to end is at work, however long that takes. */
const END_SILENT_HOLDER = `
  SELECT pg_terminate_backend(holder.pid)
  FROM pg_locks AS held JOIN pg_stat_activity AS holder ON holder.pid = held.pid
  WHERE held.locktype = 'advisory' AND held.granted AND held.objsubid = 1
    AND held.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND ((held.classid::bigint << 32) | held.objid::bigint) = hashtextextended($1, 0)
    AND holder.state LIKE 'idle%'
    AND clock_timestamp() - holder.state_change > $2 * interval '1 millisecond'`;

/**
 * Leadership by a Postgres advisory lock, for speed only: two processes may believe that they lead for as long as a
 * broken connection takes to show, so whatever the leader writes must be safe without the lock.
 *
 * The lock lives on a connection of its own. Modes: *apart*, while there is no connection, until one can be made;
 * *standing by*, which tries for the lock every interval, for a blocking wait would hold back the database's vacuum, and ends
 * the session of a holder that fell silent: a process that is stopped keeps its connection, and would lead nobody for ever;
 * *leading*, from the try that succeeds until the connection ends or does not answer, then apart again. `stop` ends all.
 */
export class LeaderLock {
  private client: pg.Client | undefined;
  private leading = false;
  private stopped = false;
  private wake: (() => void) | undefined;
  private running: Promise<void> | undefined;

  constructor(private readonly options: LeaderLockOptions) {}

  get held(): boolean {
    return this.leading;
  }

  start(): void {
    this.running ??= this.run();
  }

  /** Gives the lock back. Whatever rests on leading must have ended before. */
  async stop(): Promise<void> {
    this.stopped = true;
    this.leading = false;
    this.wake?.();
    await this.running;
  }

  /** A short statement on the lock's own connection, which is proof that the lock held when it was answered. */
  async query(text: string, values: unknown[]): Promise<void> {
    if (!this.leading || !this.client) throw new Error(`the lock ${this.options.name} is not held`);
    await this.client.query(text, values);
  }

  private async run(): Promise<void> {
    while (!this.stopped) {
      try {
        await this.attend();
      } catch (error) {
        this.lose(error instanceof Error ? error : new Error(String(error)));
      }
      await this.pause();
    }
  }

  /** One connection's life. */
  private async attend(): Promise<void> {
    const client = new pg.Client({
      connectionString: this.options.url,
      application_name: `escalon ${this.options.name}`,
      keepAlive: true,
      query_timeout: ANSWER_TIMEOUT,
      connectionTimeoutMillis: ANSWER_TIMEOUT,
    });
    const broken = { cause: undefined as Error | undefined };
    const end = (cause: Error): void => {
      broken.cause ??= cause;
      this.wake?.();
    };
    client.on('error', end);
    client.on('end', () => end(new Error('the connection to the database ended')));
    try {
      await client.connect();
      // A host that vanished is noticed by the server within about ten seconds, and its lock is free again.
      await client.query('SET tcp_keepalives_idle = 4; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 3');
      this.client = client;
      while (!this.stopped && !broken.cause) {
        await this.look(client);
        await this.pause();
      }
      if (broken.cause) throw broken.cause;
    } finally {
      this.client = undefined;
      await client.end().catch(() => undefined);
    }
  }

  private async look(client: pg.Client): Promise<void> {
    if (this.leading) {
      await client.query('SELECT 1');
      return;
    }
    const { name, silentAfter = SILENT_AFTER } = this.options;
    const tried = await client.query<{ got: boolean }>(TRY, [name]);
    if (this.stopped) return;
    if (!tried.rows[0]?.got) {
      await client.query(END_SILENT_HOLDER, [name, silentAfter]);
      return;
    }
    this.leading = true;
    this.options.onAcquired();
  }

  private lose(cause: Error): void {
    if (this.stopped) return;
    if (!this.leading) return this.options.onTrouble?.(cause);
    this.leading = false;
    this.options.onLost(cause);
  }

  private async pause(): Promise<void> {
    if (this.stopped) return;
    let timer: Timer | undefined;
    await new Promise<void>((resolve) => {
      this.wake = resolve;
      timer = this.options.timers.after(this.options.interval ?? 1000, resolve);
    });
    timer?.cancel();
    this.wake = undefined;
  }
}
