import type { RecordedEvent } from '../log/record.js';
import { encodeReadEvent } from '../protocol/responses.js';

/** An event that was just committed. Its encoding is made once and shared by all who get it in the usual form. */
export class LiveEvent {
  private shared: Buffer | undefined;

  constructor(readonly event: RecordedEvent) {}

  get encoded(): Buffer {
    this.shared ??= encodeReadEvent(this.event, undefined, 'string');
    return this.shared;
  }
}

/** Gets the live events of one commit, in order. */
export type LiveListener = (events: readonly LiveEvent[]) => void;

/** Hands committed events to the subscriptions that are live; those that are catching up read the log instead. */
export class LiveFeed {
  private readonly all = new Set<LiveListener>();
  private readonly byStream = new Map<string, Set<LiveListener>>();

  /** Starts with the next commit. @param stream a stream name, or undefined for `$all`. @returns how to stop. */
  attach(stream: string | undefined, listener: LiveListener): () => void {
    const group = stream === undefined ? this.all : this.groupOf(stream);
    group.add(listener);
    return () => {
      group.delete(listener);
      if (stream !== undefined && group.size === 0 && this.byStream.get(stream) === group) this.byStream.delete(stream);
    };
  }

  publish(events: readonly RecordedEvent[]): void {
    if (this.all.size === 0 && this.byStream.size === 0) return;
    const live = events.map((event) => new LiveEvent(event));
    for (const listener of [...this.all]) listener(live);
    if (this.byStream.size > 0) this.publishByStream(live);
  }

  private publishByStream(live: readonly LiveEvent[]): void {
    for (const [stream, events] of Map.groupBy(live, ({ event }) => event.stream)) {
      for (const listener of [...(this.byStream.get(stream) ?? [])]) listener(events);
    }
  }

  private groupOf(stream: string): Set<LiveListener> {
    const known = this.byStream.get(stream);
    if (known) return known;
    const group = new Set<LiveListener>();
    this.byStream.set(stream, group);
    return group;
  }
}
