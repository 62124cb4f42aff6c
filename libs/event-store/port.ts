/**
 * What Escalon asks of an event store. Every adapter (memory, EventStoreDB protocol) runs the suite in `conformance/`.
 *
 * Revisions count a stream's events from 0n. A position is the place of an event in the whole log: it rises, is never
 * consecutive, and only ever compared, never computed with.
 */
export type Position = bigint;

/** Before the first event of the log. */
export const START: Position = -1n;

/** Which revision the writer believes the stream has: none yet, the given one, or (telemetry-like streams only) any. */
export type ExpectedRevision = 'none' | 'any' | bigint;

/** Who and why: kept with every event. Keys with `$` are the store's own conventional names. */
export interface EventMetadata {
  /** Version of the event type's schema, from 1. */
  readonly schemaVersion: number;
  /** The account (or `system:<part>`, `node:<id>`) that acted. */
  readonly actor: string;
  readonly $correlationId?: string;
  readonly $causationId?: string;
}

/** An event to store. The id makes a retried append recognisable: it is made once, before the first try. */
export interface NewEvent {
  readonly id: string;
  readonly type: string;
  readonly data: object;
  readonly metadata: EventMetadata;
}

export interface RecordedEvent extends NewEvent {
  readonly stream: string;
  readonly revision: bigint;
  readonly position: Position;
  /** When the store recorded it, milliseconds since 1970; for display, never for a decision. */
  readonly recordedAt: number;
}

/** The answer to an append. A conflict is an expected outcome, so it is a value. */
export type AppendResult =
  | { readonly kind: 'appended'; readonly revision: bigint; readonly position: Position }
  | { readonly kind: 'conflict'; readonly actual: bigint | 'none' };

export interface EventFilter {
  /** Only events of streams whose names start with one of these. */
  readonly streamPrefixes: readonly string[];
}

/**
 * Told in order, one at a time: the subscription waits for a returned promise, so a slow subscriber is never flooded. A
 * handler that throws or rejects ends the subscription with `failed`.
 */
export interface Subscriber {
  event(event: RecordedEvent): void | Promise<void>;
  /** Everything up to this position was considered; nothing that matched was left out. */
  checkpoint?(position: Position): void | Promise<void>;
  /** The subscription has delivered all that was stored and now follows live. Told again after each reconnect. */
  caughtUp?(): void | Promise<void>;
  /** The connection was lost (true) or is whole again (false); the adapter resubscribes by itself from the last event. */
  interrupted?(down: boolean, cause?: Error): void;
  /** The subscriber's own fault ended it; nothing more is delivered. */
  failed?(error: Error): void;
}

export interface Subscription {
  /** Resolves when the last handler has returned; nothing is delivered afterwards. */
  stop(): Promise<void>;
}

export interface EventStore {
  /**
   * Stores all events or none. Retries a lost answer with the same ids and revision until it knows the outcome, and
   * rejects with `EventStoreUnavailable` only when `timeout` passed without one: the outcome is then unknown.
   * Throws `EventTooLarge` before anything is sent when the append is over 1 MiB, and `RangeError` for no events.
   * A caller that appends again after `EventStoreUnavailable` gives the same ids and the same explicit revision; under
   * `any` a second call may store the events a second time.
   */
  append(stream: string, events: readonly NewEvent[], expected: ExpectedRevision): Promise<AppendResult>;
  /** Oldest first from `from` (default 0n), at most `limit`. A stream that does not exist reads as empty. */
  readStream(stream: string, options?: { from?: bigint; limit?: number }): AsyncIterable<RecordedEvent>;
  /** Newest first from the end. */
  readStreamBackwards(stream: string, options?: { limit?: number }): AsyncIterable<RecordedEvent>;
  /** All events after `after` (default START), oldest first, up to and with `upTo` when given. Never system streams. */
  readAll(options?: { after?: Position; upTo?: Position; filter?: EventFilter }): AsyncIterable<RecordedEvent>;
  /** Events after `after`, then live ones, without gap or double. */
  subscribe(options: { after: Position; filter?: EventFilter }, subscriber: Subscriber): Subscription;
  /** The position of the newest event, the store's own included, or START. */
  head(): Promise<Position>;
  close(): Promise<void>;
}

/** The store did not answer in time; an append's outcome is unknown. */
export class EventStoreUnavailable extends Error {
  override readonly name = 'EventStoreUnavailable';
}

/** The append is over the size limit; nothing was stored. */
export class EventTooLarge extends Error {
  override readonly name = 'EventTooLarge';
  constructor(
    readonly size: number,
    readonly limit: number,
  ) {
    super(`the events to store take ${size} bytes, over the limit of ${limit}`);
  }
}
