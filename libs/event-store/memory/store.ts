import { systemClock, systemTimers } from '#kernel';
import { matchesFilter } from '../filter.js';
import { encodeEvents } from '../limits.js';
import { EventStoreUnavailable, START } from '../port.js';
import { MemoryLog } from './log.js';
import { MemorySubscription } from './subscription.js';
import type { Clock, Millis, Timers } from '#kernel';
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
import type { EncodedEvent } from '../limits.js';
import type { AppendFault, MemoryFaults } from './faults.js';

export interface MemoryEventStoreOptions {
  /** Stamps `recordedAt`. Default: the system's clock. */
  readonly clock?: Clock;
  /** Moves faults' delays. Default: the system's timers; without faults none is ever set. */
  readonly timers?: Timers;
  readonly faults?: MemoryFaults;
  /** The log to work on. Stores that share one are like processes that share a server. Default: a new one. */
  readonly log?: MemoryLog;
}

/** How long a caller waits until it knows that the server is out of reach. */
const NOTICED_AFTER: Millis = 500;

/**
 * An event store in memory, with the same rules as the real one and faults on command. It uses no clock and no random
 * source but those it is given, and delivers through promises, so a run under a fake clock is the same each time.
 */
export class MemoryEventStore implements EventStore {
  readonly log: MemoryLog;
  private readonly clock: Clock;
  private readonly timers: Timers;
  private readonly faults: MemoryFaults;
  private readonly subscriptions = new Set<MemorySubscription>();
  private state: 'open' | 'closed' | 'crashed' = 'open';
  private awayUntil: Millis = -Infinity;

  constructor(options: MemoryEventStoreOptions = {}) {
    this.clock = options.clock ?? systemClock;
    this.timers = options.timers ?? systemTimers;
    this.faults = options.faults ?? {};
    this.log = options.log ?? new MemoryLog();
  }

  async append(stream: string, events: readonly NewEvent[], expected: ExpectedRevision): Promise<AppendResult> {
    const encoded = encodeEvents(events);
    await this.open();
    if (this.away) await this.refuse(`the event store cannot be reached for an append to ${stream}`);
    const fault = this.faults.append?.(stream, events);
    const answer = fault
      ? await this.appendWithFault(fault, stream, encoded, expected)
      : this.store(stream, encoded, expected);
    await this.open();
    return answer;
  }

  async *readStream(stream: string, options: { from?: bigint; limit?: number } = {}): AsyncIterable<RecordedEvent> {
    await this.beforeRead(stream);
    const from = Number(options.from ?? 0n);
    const events = this.log.stream(stream);
    yield* this.hand(events, from, Math.min(events.length, from + (options.limit ?? Infinity)));
  }

  async *readStreamBackwards(stream: string, options: { limit?: number } = {}): AsyncIterable<RecordedEvent> {
    await this.beforeRead(stream);
    const events = this.log.stream(stream);
    const end = Math.max(0, events.length - (options.limit ?? Infinity));
    for (let index = events.length - 1; index >= end; index -= 1) {
      await this.open();
      yield events[index] as RecordedEvent;
    }
  }

  async *readAll(
    options: { after?: Position; upTo?: Position; filter?: EventFilter } = {},
  ): AsyncIterable<RecordedEvent> {
    await this.beforeRead('$all');
    const end = options.upTo === undefined ? this.log.events.length : this.log.indexAfter(options.upTo);
    for await (const event of this.hand(this.log.events, this.log.indexAfter(options.after ?? START), end)) {
      if (matchesFilter(event.stream, options.filter)) yield event;
    }
  }

  subscribe(options: { after: Position; filter?: EventFilter }, subscriber: Subscriber): Subscription {
    if (this.state === 'closed') throw new EventStoreUnavailable('the event store is closed');
    const { after, filter } = options;
    const subscription = new MemorySubscription(
      this.log,
      { after, filter, faults: this.faults, timers: this.timers },
      subscriber,
      (ended) => void this.subscriptions.delete(ended),
    );
    if (this.state === 'crashed') subscription.cut();
    else this.subscriptions.add(subscription);
    if (this.away) subscription.cutOff(this.awayUntil - this.clock.now());
    return subscription;
  }

  async head(): Promise<Position> {
    await this.beforeRead('$all');
    return this.log.head();
  }

  async close(): Promise<void> {
    if (this.state === 'open') this.state = 'closed';
    await Promise.all([...this.subscriptions].map((subscription) => subscription.stop()));
  }

  /** Ends this store as a crash of its process would: nothing more is delivered, and answers under way never come. */
  crash(): void {
    this.state = 'crashed';
    for (const subscription of this.subscriptions) subscription.cut();
  }

  /** The server is out of reach for a span: appends and reads reject, subscriptions are interrupted and then resume. */
  cutOff(span: Millis): void {
    this.awayUntil = this.clock.now() + span;
    for (const subscription of this.subscriptions) subscription.cutOff(span);
  }

  private get away(): boolean {
    return this.clock.now() < this.awayUntil;
  }

  private async refuse(message: string): Promise<never> {
    await this.pass(NOTICED_AFTER);
    throw new EventStoreUnavailable(message);
  }

  private store(stream: string, events: readonly EncodedEvent[], expected: ExpectedRevision): AppendResult {
    return this.log.append(stream, events, expected, this.clock.now());
  }

  private async appendWithFault(
    fault: AppendFault,
    stream: string,
    events: readonly EncodedEvent[],
    expected: ExpectedRevision,
  ): Promise<AppendResult> {
    switch (fault.kind) {
      case 'delay-request':
        await this.pass(fault.by);
        return this.store(stream, events, expected);
      case 'delay-answer': {
        const answer = this.store(stream, events, expected);
        await this.pass(fault.by);
        return answer;
      }
      case 'retry-lost-answer':
        this.store(stream, events, expected);
        await this.pass(fault.after);
        return this.store(stream, events, expected);
      case 'lose-answer':
        this.store(stream, events, expected);
        await this.pass(fault.after);
        throw lost(stream);
      case 'fail-before-storing':
        await this.pass(fault.after);
        throw lost(stream);
    }
  }

  private async beforeRead(stream: string): Promise<void> {
    await this.open();
    if (this.away) await this.refuse(`the event store cannot be reached for a read of ${stream}`);
    const fault = this.faults.read?.(stream);
    if (fault) await this.pass(fault.kind === 'delay' ? fault.by : fault.after);
    if (fault?.kind === 'fail') throw new EventStoreUnavailable(`the event store did not answer a read of ${stream}`);
  }

  private async *hand(events: readonly RecordedEvent[], from: number, end: number): AsyncIterable<RecordedEvent> {
    for (let index = from; index < end; index += 1) {
      await this.open();
      yield events[index] as RecordedEvent;
    }
  }

  private async pass(span: Millis): Promise<void> {
    await new Promise<void>((resolve) => void this.timers.after(span, resolve));
    await this.open();
  }

  /** Passes while the store is open, rejects once it is closed, and never answers once it has crashed. */
  private async open(): Promise<void> {
    if (this.state === 'closed') throw new EventStoreUnavailable('the event store is closed');
    if (this.state === 'crashed') await new Promise<never>(() => undefined);
  }
}

const lost = (stream: string): EventStoreUnavailable =>
  new EventStoreUnavailable(`the event store did not answer an append to ${stream}; it may be stored`);
