import { openProjection } from './checkpoints.js';
import { inTransaction } from './database.js';
import { Inbox } from './inbox.js';
import { LiveProjection } from './live-projection.js';
import type { Pool } from 'pg';
import type { Clock, Millis, Timer, Timers } from '#kernel';
import type { EventStore, Position, Subscription } from '#event-store';
import type { Projection } from './projection.js';
import type { WriterOptions } from './writer.js';

export interface SessionOptions {
  readonly pool: Pool;
  readonly store: EventStore;
  readonly projections: readonly Projection[];
  readonly clock: Clock;
  readonly timers: Timers;
  readonly writer: WriterOptions;
  /** Most events in one transaction. */
  readonly batchSize: number;
  /** The projections named hold everything up to the position, committed. */
  readonly onPassed: (names: readonly string[], position: Position) => void | Promise<void>;
  readonly onFailed: (name: string, error: Error) => void;
}

/** The tables are ahead of the log: one of the two was restored from a backup, or they do not belong together. */
export class CheckpointAhead extends Error {
  override readonly name = 'CheckpointAhead';
  constructor(projection: string, checkpoint: Position, head: Position) {
    super(
      `projection ${projection} has read up to position ${checkpoint.toString()}, but the log ends at ` +
        `${head.toString()}: the event store was restored from an older backup or is another one. Restore the matching ` +
        `log, or rebuild the projection from this one (escalon projections rebuild ${projection})`,
    );
  }
}

/** Tables of another version than this code's. */
export interface Outdated {
  readonly projection: Projection;
  readonly storedVersion: number;
}

const FLUSH_DELAY: Millis = 1000;
/** How long the next batch gathers after one was committed. */
const GATHER: Millis = 50;

/**
 * One leader's work from one reading of the checkpoints: a single subscription from the lowest checkpoint feeds all
 * projections. While a batch is being committed the next one gathers, and for a moment longer: a transaction costs much
 * the same for one event as for fifty, and an event seldom comes alone. What comes after a pause is applied at once, and
 * so is what a reader waits for.
 *
 * Modes: *opening*, which makes missing tables and refuses a checkpoint ahead of the log; *running*, which ends with
 * `close`, or with the first fault that concerns more than one projection. A session never recovers: the runner opens
 * another one, which reads again what is stored. That makes a crash and a fault the same case.
 */
export class ProjectionSession {
  private readonly inbox: Inbox;
  private live: LiveProjection[] = [];
  private outdatedOnes: Outdated[] = [];
  private subscription: Subscription | undefined;
  private flushTimer: Timer | undefined;
  private flushDue = false;
  private fault: Error | undefined;
  private closed = false;
  private connected = false;
  private following = false;

  constructor(private readonly options: SessionOptions) {
    this.inbox = new Inbox(2 * options.batchSize);
  }

  get projections(): readonly LiveProjection[] {
    return this.live;
  }

  /** Projections left out, because their tables must be rebuilt first. */
  get outdated(): readonly Outdated[] {
    return this.outdatedOnes;
  }

  /** Subscribed, caught up at least once since, and not cut off. */
  get current(): boolean {
    return this.connected && this.following;
  }

  get backlog(): number {
    return this.inbox.size;
  }

  /** Reads the checkpoints. Throws `CheckpointAhead`. */
  async open(): Promise<void> {
    const { pool, projections, clock, writer, store } = this.options;
    for (const projection of projections) {
      const checkpoint = await inTransaction(pool, (sql) => openProjection(sql, projection));
      if (checkpoint.version === projection.version) {
        this.live.push(new LiveProjection(pool, projection, checkpoint, clock, writer));
      } else this.outdatedOnes.push({ projection, storedVersion: checkpoint.version });
    }
    const head = await store.head();
    const ahead = this.live.find(({ position }) => position > head);
    if (ahead) throw new CheckpointAhead(ahead.name, ahead.position, head);
  }

  /** Applies events until `close`; rejects with the fault that ended it. */
  async run(): Promise<void> {
    this.subscribe();
    try {
      for (;;) {
        const delivery = await this.inbox.take(this.options.batchSize);
        if (!delivery) break;
        await Promise.all(this.live.map((projection) => this.deliver(projection, delivery)));
        if (this.flushDue) await this.flush();
        await this.tellPassed(delivery.upTo);
        this.scheduleFlush();
        if (delivery.events.length > 0) await this.inbox.gather(this.options.timers, GATHER);
      }
    } catch (error) {
      this.fault ??= error instanceof Error ? error : new Error(String(error));
    }
    await this.end();
    if (this.fault) throw this.fault;
  }

  close(): void {
    this.closed = true;
    this.inbox.close();
  }

  /** A reader waits until the projections have passed the position. */
  hurry(position: Position): void {
    this.inbox.want(position);
  }

  private subscribe(): void {
    if (this.live.length === 0 || this.closed) return;
    const after = this.live
      .map(({ position }) => position)
      .reduce((low, position) => (position < low ? position : low));
    const streamPrefixes = [...new Set(this.live.flatMap(({ projection }) => projection.prefixes))];
    this.connected = true;
    this.subscription = this.options.store.subscribe(
      { after, filter: { streamPrefixes } },
      {
        event: (event) => this.inbox.put(event),
        checkpoint: (position) => this.inbox.passed(position),
        caughtUp: () => void (this.following = true),
        interrupted: (down) => {
          this.connected = !down;
          if (down) this.following = false;
        },
        failed: (error) => this.abort(error),
      },
    );
  }

  private async deliver(projection: LiveProjection, delivery: Parameters<LiveProjection['deliver']>[0]): Promise<void> {
    const before = projection.failure;
    await projection.deliver(delivery);
    if (projection.failure && !before) this.options.onFailed(projection.name, projection.failure);
  }

  private async tellPassed(position: Position): Promise<void> {
    const names = this.live.filter((projection) => projection.position >= position).map(({ name }) => name);
    if (names.length > 0) await this.options.onPassed(names, position);
  }

  private scheduleFlush(): void {
    if (this.flushTimer || this.closed || !this.live.some(({ unstored }) => unstored)) return;
    this.flushTimer = this.options.timers.after(FLUSH_DELAY, () => {
      this.flushTimer = undefined;
      // Through the same queue as the batches, so that nothing is committed beside them.
      this.flushDue = true;
      this.inbox.nudge();
    });
  }

  private async flush(): Promise<void> {
    this.flushDue = false;
    await Promise.all(this.live.map((projection) => projection.flush()));
  }

  private abort(error: Error): void {
    this.fault ??= error;
    this.close();
  }

  private async end(): Promise<void> {
    this.closed = true;
    this.connected = false;
    this.flushTimer?.cancel();
    this.inbox.close();
    await this.subscription?.stop();
    // After a fault what is stored decides; without one the next session need not read again what did not match.
    if (!this.fault) await this.flush().catch(() => undefined);
  }
}
