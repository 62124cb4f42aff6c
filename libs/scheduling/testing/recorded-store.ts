import { EventStoreUnavailable } from '#event-store';
import type { EventStore, Position, RecordedEvent, Subscriber, Subscription } from '#event-store';
import type { ClusterEvent } from '#placement';

/** A store that holds these events and takes no others; its subscriptions wait for the subscriber, as all do. */
export class RecordedStore implements Pick<EventStore, 'readStream' | 'readAll' | 'subscribe'> {
  /** Reads that fail as if the store were away. */
  away = 0;
  /** Where subscriptions began. */
  readonly begun: Position[] = [];
  readonly events: readonly RecordedEvent[];

  constructor(events: readonly ClusterEvent[], mark = '') {
    this.events = events.map((event) => ({
      ...event,
      data: event.data as object,
      id: `${event.stream}@${String(event.revision)}${mark}`,
      metadata: { schemaVersion: 1, actor: 'test' },
      recordedAt: 0,
    }));
  }

  async *readStream(stream: string, { from = 0n, limit = Infinity } = {}): AsyncIterable<RecordedEvent> {
    if (this.away-- > 0) throw new EventStoreUnavailable('away');
    yield* this.events.filter((event) => event.stream === stream && event.revision >= from).slice(0, limit);
  }

  async *readAll(): AsyncIterable<RecordedEvent> {
    yield* this.events;
  }

  subscribe({ after }: { after: Position }, subscriber: Subscriber): Subscription {
    this.begun.push(after);
    const delivery = this.deliver(after, subscriber);
    return { stop: () => delivery };
  }

  private async deliver(after: Position, subscriber: Subscriber): Promise<void> {
    try {
      for (const event of this.events) if (event.position > after) await subscriber.event(event);
      await subscriber.caughtUp?.();
    } catch (error) {
      subscriber.failed?.(error as Error);
    }
  }
}
