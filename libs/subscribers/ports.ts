import type { Position, RecordedEvent } from '#event-store';
import type { Millis } from '#kernel';

/** Takes one event to a subscriber. Resolves when the subscriber has it; rejects when it is to be tried again. */
export type Deliver = (event: RecordedEvent, signal: AbortSignal) => Promise<void>;

/** Where a subscriber's position outlives the process. */
export interface SubscriberPositions {
  /** Undefined for a subscriber that was never seen before. */
  load(name: string): Promise<Position | undefined>;
  /** A position that is not ahead of the stored one changes nothing. */
  save(name: string, position: Position): Promise<void>;
}

/** What happened, for counters and the log. */
export interface SubscriberObserver {
  delivered?(name: string): void;
  /** A delivery failed, `failures` times in a row now; it is tried again after `delay`. */
  failed?(name: string, event: RecordedEvent, error: unknown, failures: number, delay: Millis): void;
  /** A delivery failed as often as the subscriber's configuration allows, and is not tried again. */
  gaveUp?(name: string, event: RecordedEvent, error: unknown, failures: number): void;
  /** Something else stands in the way (the positions' store, say); it is tried again. */
  trouble?(name: string, error: unknown): void;
}

export interface SubscriberStatus {
  readonly name: string;
  /** Everything up to here was delivered. */
  readonly position: Position;
  /** Events that were read and are not delivered yet. */
  readonly waiting: number;
  /** Milliseconds since the oldest of these was recorded; 0 without any. */
  readonly behind: Millis;
  /** Deliveries that failed and wait for their next try. */
  readonly failing: number;
}
