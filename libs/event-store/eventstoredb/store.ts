import { EventStoreUnavailable, START } from '../port.js';
import { Appender } from './appender.js';
import { BatchStream } from './batch-stream.js';
import { Connection, forReads, serverOf } from './connection.js';
import { Health } from './health.js';
import { Reader } from './reader.js';
import { AnswerDecoder } from './records.js';
import { EventStoreSubscription } from './subscription.js';
import type { Clock, Millis, Random, Timers } from '#kernel';
import type {
  AppendResult,
  EventFilter,
  EventStore,
  ExpectedRevision,
  NewEvent,
  Position,
  RecordedEvent,
  Subscriber,
  Subscription,
} from '../port.js';
import type { ConnectionStatus, EventStoreLogger } from './health.js';

export interface EventStoreDbOptions {
  /** `esdb://…`: servers, TLS and credentials. */
  readonly connectionString: string;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  /** How long an append or a read may be without a certain answer, milliseconds. Default 10,000. */
  readonly timeout?: Millis;
  /** Appends under way at once; the others wait their turn. Default 64. */
  readonly maxInFlight?: number;
  /** How long a subscription may be silent before the log's head is looked at, milliseconds. Default 500. */
  readonly idle?: Millis;
  readonly logger?: EventStoreLogger;
}

/** An event store on the other end of a connection. */
export interface ConnectedEventStore extends EventStore {
  /** How the last exchange with the server went: for health and for the message at start. */
  status(): ConnectionStatus;
}

/** How long a server that does not answer is left alone between two looks. */
const LOOK_EVERY = 1000;

/**
 * Connects to EventStoreDB, KurrentDB or the embedded server. Returns at once and keeps trying; `status` says how it
 * goes. Throws only when the connection string is malformed or names a certificate file that is not there.
 */
export const connectEventStore = (options: EventStoreDbOptions): ConnectedEventStore => new EventStoreDb(options);

class EventStoreDb implements ConnectedEventStore {
  private readonly health: Health;
  private readonly writes: Connection;
  private readonly reads: Connection;
  private readonly batches: BatchStream;
  private readonly appender: Appender;
  private readonly reader: Reader;
  private readonly decoder = new AnswerDecoder();
  private readonly subscriptions = new Set<EventStoreSubscription>();
  private readonly timeout: Millis;
  private closed = false;
  private stopLooking: (() => void) | undefined;

  constructor(private readonly options: EventStoreDbOptions) {
    const { connectionString, clock, timers, random, logger } = options;
    this.timeout = options.timeout ?? 10_000;
    this.health = new Health(serverOf(connectionString), clock, logger);
    this.writes = new Connection(connectionString, this.health);
    this.reads = new Connection(forReads(connectionString), this.health);
    this.batches = new BatchStream(this.writes, timers);
    this.reader = new Reader(this.reads, this.decoder, { timers, random, timeout: this.timeout });
    const maxInFlight = options.maxInFlight ?? 64;
    this.appender = new Appender(this.batches, this.reader, {
      timers,
      random,
      timeout: this.timeout,
      maxInFlight,
    });
    void this.look();
  }

  async append(stream: string, events: readonly NewEvent[], expected: ExpectedRevision): Promise<AppendResult> {
    this.assertOpen();
    return this.appender.append(stream, events, expected);
  }

  readStream(stream: string, options: { from?: bigint; limit?: number } = {}): AsyncIterable<RecordedEvent> {
    this.assertOpen();
    return this.reader.stream(stream, options.from ?? 0n, options.limit);
  }

  readStreamBackwards(stream: string, options: { limit?: number } = {}): AsyncIterable<RecordedEvent> {
    this.assertOpen();
    return this.reader.streamBackwards(stream, options.limit);
  }

  readAll(options: { after?: Position; upTo?: Position; filter?: EventFilter } = {}): AsyncIterable<RecordedEvent> {
    this.assertOpen();
    return this.reader.all(options.after ?? START, options.upTo, options.filter);
  }

  subscribe({ after, filter }: { after: Position; filter?: EventFilter }, subscriber: Subscriber): Subscription {
    this.assertOpen();
    const { timers, random, idle = 500 } = this.options;
    const subscription = new EventStoreSubscription(
      this.reads,
      this.reader,
      this.decoder,
      { after, filter, timers, random, idle, timeout: this.timeout },
      subscriber,
      (ended) => void this.subscriptions.delete(ended),
    );
    this.subscriptions.add(subscription);
    return subscription;
  }

  async head(): Promise<Position> {
    this.assertOpen();
    return this.reader.head();
  }

  status(): ConnectionStatus {
    return this.health.status();
  }

  async close(): Promise<void> {
    this.closed = true;
    await Promise.all([...this.subscriptions].map((subscription) => subscription.stop()));
    this.stopLooking?.();
    await this.batches.close();
    this.writes.close();
    this.reads.close();
  }

  /**
   * Looks at the server until it answers: from the start, so that a wrong address shows at once, and again after each
   * failure, so that the status mends without traffic. Ends with `close`.
   */
  private async look(): Promise<void> {
    while (!this.isClosed()) {
      if (!this.status().connected) await this.reader.headNow().catch(() => undefined);
      if (this.isClosed()) return;
      await new Promise<void>((resolve) => {
        const timer = this.options.timers.after(LOOK_EVERY, resolve);
        this.stopLooking = () => {
          timer.cancel();
          resolve();
        };
      });
    }
  }

  private isClosed(): boolean {
    return this.closed;
  }

  private assertOpen(): void {
    if (this.closed) throw new EventStoreUnavailable('the event store is closed');
  }
}
