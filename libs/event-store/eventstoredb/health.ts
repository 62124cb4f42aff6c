import { explain } from './explain.js';
import type { Clock, Millis } from '#kernel';

/** Where the adapter says what happens to its connection. Fits a pino logger. */
export interface EventStoreLogger {
  info(details: object, message: string): void;
  warn(details: object, message: string): void;
}

export interface ConnectionStatus {
  /** The server answered last time. */
  readonly connected: boolean;
  /** Since when that is so. */
  readonly since: Millis;
  /** Why it did not, in words that name the cause. */
  readonly lastError?: string;
}

/** Remembers how the last exchange with the server went, and logs when that changes. */
export class Health {
  private current: ConnectionStatus;

  constructor(
    private readonly server: string,
    private readonly clock: Clock,
    private readonly logger: EventStoreLogger | undefined,
  ) {
    this.current = { connected: false, since: clock.now() };
  }

  status(): ConnectionStatus {
    return this.current;
  }

  answered(): void {
    if (this.current.connected) return;
    this.current = { connected: true, since: this.clock.now() };
    this.logger?.info({ server: this.server }, 'connected to the event store');
  }

  failed(error: unknown): void {
    const lastError = `${this.server}: ${explain(error)}`;
    const news = this.current.lastError !== lastError;
    const since = this.current.connected ? this.clock.now() : this.current.since;
    this.current = { connected: false, since, lastError };
    if (news)
      this.logger?.warn({ server: this.server, cause: lastError }, 'the event store does not answer; trying again');
  }
}
