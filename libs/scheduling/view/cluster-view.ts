import { START } from '#event-store';
import type { EventStore, Position, RecordedEvent, Subscription } from '#event-store';
import { JOB_STREAM_PREFIX } from '#jobs';
import { NODE_STREAM_PREFIX } from '#nodes';
import { applyEvent, emptyCluster } from '#placement';
import type { ClusterState } from '#placement';
import { PROJECT_STREAM_PREFIX } from '#projects';

export type ViewListener = (event: RecordedEvent) => void;

const FILTER = { streamPrefixes: [JOB_STREAM_PREFIX, NODE_STREAM_PREFIX, PROJECT_STREAM_PREFIX] };

/**
 * The cluster as the log tells it, held in memory and followed live. It is a cache: decisions made on it are proved by
 * the revision they name when they are stored.
 *
 * Modes. *Catching up*: from `start` until the log's end was reached once; only `follow`ers hear of it. *Live*: each event
 * is applied and then told to the listeners, in log order. *Interrupted*: the store is away; `ready` is false until it
 * is back and caught up again. *Stopped*: after `stop`, or when an event could not be applied (`onFault`).
 */
export class ClusterView {
  readonly cluster: ClusterState = emptyCluster();
  private readonly listeners = new Set<ViewListener>();
  private readonly followers = new Set<ViewListener>();
  private readonly returns = new Set<() => void>();
  private readonly revisions = new Map<string, bigint>();
  private readonly streamWaiters = new Map<string, { revision: bigint; resolve: () => void }[]>();
  private positionWaiters: { position: Position; resolve: () => void }[] = [];
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
    this.subscription = this.store.subscribe(
      { after: START, filter: FILTER },
      {
        event: (event) => this.apply(event),
        caughtUp: () => this.becomeLive(),
        // Whole again is not caught up again.
        interrupted: (down) => void (this.down ||= down),
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

  /** Hears every event after it was applied, those of catching up as well; to be called before `start`. */
  follow(follower: ViewListener): () => void {
    this.followers.add(follower);
    return () => void this.followers.delete(follower);
  }

  /** Called each time the view is whole again after an interruption; the answer ends that. */
  onReturn(run: () => void): () => void {
    this.returns.add(run);
    return () => void this.returns.delete(run);
  }

  /** Resolves when everything that was stored before the call is applied. */
  async current(): Promise<void> {
    let last: Position | undefined;
    for await (const { position } of this.store.readAll({ after: this.position, filter: FILTER })) last = position;
    if (last === undefined || last <= this.position) return;
    const position = last;
    await new Promise<void>((resolve) => this.positionWaiters.push({ position, resolve }));
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
    for (const follower of this.followers) follower(event);
    if (this.live) for (const listener of this.listeners) listener(event);
    this.wake(event.stream, event.revision);
  }

  private wake(stream: string, revision: bigint): void {
    if (this.positionWaiters.length > 0) this.wakeByPosition();
    const waiters = this.streamWaiters.get(stream);
    if (!waiters) return;
    const still = waiters.filter((waiter) => waiter.revision > revision);
    if (still.length > 0) this.streamWaiters.set(stream, still);
    else this.streamWaiters.delete(stream);
    for (const waiter of waiters) if (waiter.revision <= revision) waiter.resolve();
  }

  private wakeByPosition(): void {
    const waiters = this.positionWaiters;
    this.positionWaiters = waiters.filter(({ position }) => position > this.position);
    for (const { position, resolve } of waiters) if (position <= this.position) resolve();
  }

  private becomeLive(): void {
    const returned = this.live && this.down;
    this.live = true;
    this.down = false;
    if (returned) for (const run of this.returns) run();
    const waiters = this.readyWaiters;
    this.readyWaiters = [];
    for (const resolve of waiters) resolve();
  }
}
