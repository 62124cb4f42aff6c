import { START } from '#event-store';
import type { EventStore, Position, RecordedEvent, Subscription } from '#event-store';
import { JOB_STREAM_PREFIX } from '#jobs';
import { NODE_STREAM_PREFIX } from '#nodes';
import { applyEvent, appliedRevision, emptyCluster } from '#placement';
import type { ClusterState } from '#placement';
import { PROJECT_STREAM_PREFIX } from '#projects';
import type { Follower, LastEvent, Snapshot } from '../snapshot/format.js';
import type { Snapshots } from '../snapshot/snapshots.js';

export type ViewListener = (event: RecordedEvent) => void;

/** Something else that is folded from the whole log, beside the cluster. */
export interface ViewFollower extends Follower {
  /** Hears every event after it was applied, those of catching up as well. */
  readonly hear: ViewListener;
  /** Takes the place of all the events up to a snapshot: its `lines` as they were then, after the cluster is restored. */
  begin(lines: readonly unknown[]): void;
}

const FILTER = { streamPrefixes: [JOB_STREAM_PREFIX, NODE_STREAM_PREFIX, PROJECT_STREAM_PREFIX] };

/**
 * The cluster as the log tells it, held in memory and followed live. It is a cache: decisions made on it are proved by
 * the revision they name when they are stored.
 *
 * Modes. *Restoring*: from `start`, while a snapshot is looked for, if there are any. *Catching up*: from the snapshot, or
 * the log's start, until the log's end was reached once; only `follow`ers hear of it. *Live*: each event is applied and then
 * told to the listeners, in log order. *Standing still*: a snapshot is being written down, in either of the two; the next
 * event waits for that. *Interrupted*: the store is away; `ready` is false until it is back and caught up again. *Stopped*:
 * after `stop`, which leaves a snapshot, or when an event could not be applied (`onFault`).
 */
export class ClusterView {
  private folded = emptyCluster();
  private readonly listeners = new Set<ViewListener>();
  private readonly followers = new Set<ViewFollower>();
  private readonly returns = new Set<() => void>();
  private readonly streamWaiters = new Map<string, { revision: bigint; resolve: () => void }[]>();
  private positionWaiters: { position: Position; resolve: () => void }[] = [];
  private readyWaiters: (() => void)[] = [];
  private starting: Promise<void> | undefined;
  private subscription: Subscription | undefined;
  private last: LastEvent | undefined;
  private standing: Promise<void> | undefined;
  private saving: Promise<void> | undefined;
  private live = false;
  private down = false;
  private stopped = false;
  private failed = false;

  constructor(
    private readonly store: EventStore,
    private readonly onFault: (error: Error) => void,
    private readonly snapshots?: Snapshots,
  ) {}

  /** Begins to follow the log, from the newest snapshot that can be used or from its start. */
  start(): void {
    if (!this.snapshots) this.subscribe();
    else this.starting = this.restore(this.snapshots).catch((error: unknown) => this.fail(error as Error));
  }

  /** With snapshots, resolves when the last one is stored. */
  async stop(): Promise<void> {
    this.live = false;
    this.stopped = true;
    await this.starting;
    await this.subscription?.stop();
    await this.saving;
    if (this.snapshots?.outdated && !this.failed) this.save();
    await this.saving;
  }

  /** True while the view follows the log live. */
  get ready(): boolean {
    return this.live && !this.down;
  }

  /** Another object once a snapshot was restored, so it is asked for each time. */
  get cluster(): ClusterState {
    return this.folded;
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

  /** To be called before `start`; for as long as the view lives, so that every snapshot has all parts. */
  follow(follower: ViewFollower): void {
    this.followers.add(follower);
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
    if ((appliedRevision(this.cluster, stream) ?? -1n) >= revision) return Promise.resolve();
    return new Promise((resolve) => {
      const waiters = this.streamWaiters.get(stream) ?? [];
      waiters.push({ revision, resolve });
      this.streamWaiters.set(stream, waiters);
    });
  }

  private async restore(snapshots: Snapshots): Promise<void> {
    const snapshot = await snapshots.restore(() => this.stopped);
    if (this.stopped) return;
    if (snapshot) this.begin(snapshot);
    this.subscribe();
  }

  private begin({ last, cluster, followers }: Snapshot): void {
    this.last = last;
    this.folded = cluster;
    for (const follower of this.followers) follower.begin(followers.get(follower.name) ?? []);
  }

  private subscribe(): void {
    this.subscription = this.store.subscribe(
      { after: this.last?.position ?? START, filter: FILTER },
      {
        event: (event) => (this.standing ? this.standing.then(() => this.apply(event)) : this.apply(event)),
        caughtUp: () => this.becomeLive(),
        // Whole again is not caught up again.
        interrupted: (down) => void (this.down ||= down),
        failed: (error) => this.fail(error),
      },
    );
  }

  private fail(error: Error): void {
    this.failed = true;
    this.onFault(error);
  }

  private apply(event: RecordedEvent): void {
    applyEvent(this.cluster, event);
    this.last = event;
    for (const follower of this.followers) follower.hear(event);
    if (this.live) for (const listener of this.listeners) listener(event);
    this.wake(event.stream, event.revision);
    if (this.snapshots?.count() && !this.saving) this.save();
  }

  private save(): void {
    if (!this.snapshots || !this.last) return;
    const { taken, over } = this.snapshots.save(this.last, this.cluster, this.followers);
    this.standing = taken.then(() => (this.standing = undefined));
    this.saving = over.then(() => (this.saving = undefined));
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
