import { START } from '#event-store';
import type { EventStore, Position, RecordedEvent, Subscription } from '#event-store';
import { JOB_STREAM_PREFIX } from '#jobs';
import { NODE_STREAM_PREFIX } from '#nodes';
import { applyEvent, emptyCluster } from '#placement';
import type { ClusterState } from '#placement';
import { PROJECT_STREAM_PREFIX } from '#projects';

export type ViewListener = (event: RecordedEvent) => void;

/**
 * The cluster as the log tells it, held in memory and followed live. It is a cache: decisions made on it are proved by
 * the revision they name when they are stored.
 *
 * Modes. *Catching up*: from `start` until the log's end was reached once; listeners hear nothing yet. *Live*: each event
 * is applied and then told to the listeners, in log order. *Interrupted*: the store is away; `ready` is false until it
 * is back and caught up again. *Stopped*: after `stop`, or when an event could not be applied (`onFault`).
 */
export class ClusterView {
  readonly cluster: ClusterState = emptyCluster();
  private readonly listeners = new Set<ViewListener>();
  private readonly revisions = new Map<string, bigint>();
  private readonly streamWaiters = new Map<string, { revision: bigint; resolve: () => void }[]>();
  private readyWaiters: (() => void)[] = [];
  private subscription: Subscription | undefined;
  private live = false;
  private down = false;

  constructor(
    private readonly store: EventStore,
    private readonly onFault: (error: Error) => void,
  ) {}

  /** Begins to follow the log from its start. */
  start(): void {
    const filter = { streamPrefixes: [JOB_STREAM_PREFIX, NODE_STREAM_PREFIX, PROJECT_STREAM_PREFIX] };
    this.subscription = this.store.subscribe(
      { after: START, filter },
      {
        event: (event) => this.apply(event),
        caughtUp: () => this.becomeLive(),
        interrupted: (down) => void (this.down = down),
        failed: (error) => this.onFault(error),
      },
    );
  }

  async stop(): Promise<void> {
    this.live = false;
    await this.subscription?.stop();
  }

  /** True while the view follows the log live. */
  get ready(): boolean {
    return this.live && !this.down;
  }

  /** The position of the last event applied. */
  get position(): Position {
    return this.cluster.position;
  }

  /** Resolves when the view is live. */
  whenReady(): Promise<void> {
    return this.live ? Promise.resolve() : new Promise((resolve) => this.readyWaiters.push(resolve));
  }

  /** Hears every live event after it was applied; the answer ends that. */
  listen(listener: ViewListener): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  /** Resolves when the stream's event of this revision (or a later one) was applied. */
  reached(stream: string, revision: bigint): Promise<void> {
    if ((this.revisions.get(stream) ?? -1n) >= revision) return Promise.resolve();
    return new Promise((resolve) => {
      const waiters = this.streamWaiters.get(stream) ?? [];
      waiters.push({ revision, resolve });
      this.streamWaiters.set(stream, waiters);
    });
  }

  private apply(event: RecordedEvent): void {
    applyEvent(this.cluster, event);
    this.revisions.set(event.stream, event.revision);
    if (this.live) for (const listener of this.listeners) listener(event);
    this.wake(event.stream, event.revision);
  }

  private wake(stream: string, revision: bigint): void {
    const waiters = this.streamWaiters.get(stream);
    if (!waiters) return;
    const still = waiters.filter((waiter) => waiter.revision > revision);
    if (still.length > 0) this.streamWaiters.set(stream, still);
    else this.streamWaiters.delete(stream);
    for (const waiter of waiters) if (waiter.revision <= revision) waiter.resolve();
  }

  private becomeLive(): void {
    this.live = true;
    this.down = false;
    const waiters = this.readyWaiters;
    this.readyWaiters = [];
    for (const resolve of waiters) resolve();
  }
}
