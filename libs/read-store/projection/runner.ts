import pg from 'pg';
import { LeaderLock } from '../leader-lock.js';
import { readCheckpoint } from './checkpoints.js';
import { rebuildProjection } from './rebuild.js';
import { ProjectionSession } from './session.js';
import type { Pool } from 'pg';
import type { Clock, Millis, Timer, Timers } from '#kernel';
import type { EventStore, Position } from '#event-store';
import type { Projection } from './projection.js';
import type { Outdated } from './session.js';
import type { BatchMoment } from './writer.js';

/** Where the runner tells what happens to it. */
export interface RunnerLog {
  info(details: object, message: string): void;
  error(details: object, message: string): void;
}

export interface ProjectionRunnerOptions {
  /** `postgres://…`. The tables of the read store's migrations must be there. */
  readonly url: string;
  readonly store: EventStore;
  readonly projections: readonly Projection[];
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log?: RunnerLog;
  /** Told after each commit: these projections hold everything up to the position. */
  readonly onPassed?: (names: readonly string[], position: Position) => void;
  /** Most events in one transaction. Default 500. */
  readonly batchSize?: number;
  /** Rows of each table kept in memory. Default 20,000. */
  readonly rowsInMemory?: number;
  /** For tests: called at each moment of a batch; what it throws fails the batch there. */
  readonly onMoment?: (moment: BatchMoment, projection: string) => void | Promise<void>;
}

export interface RunnerState {
  /** `standby`: another process runs the projections, or the database cannot be reached. `waiting`: a fault; tried again soon. */
  readonly mode: 'standby' | 'opening' | 'running' | 'waiting' | 'stopped';
  /** Running and following the log live. */
  readonly current: boolean;
  readonly lastError: string | undefined;
  /** Events delivered and not yet applied. */
  readonly backlog: number;
  readonly projections: readonly {
    readonly name: string;
    readonly position: Position;
    readonly failure: string | undefined;
  }[];
}

/** The channel on which other processes hear how far the projections are. */
export const PROJECTION_CHANNEL = 'escalon_projection';
export const PROJECTION_LOCK = 'projections';

const FIRST_RETRY: Millis = 100;
const LAST_RETRY: Millis = 2000;
const LOOK_INTERVAL: Millis = 2000;

/**
 * Keeps the projections of this process current, if no other process of the same database does.
 *
 * Modes: *standby*, until the lock is ours; then session after session: *opening* and *running* while all is well,
 * *waiting* after a fault of the database, of the event store or of a batch, for a time that doubles from 0.1 to 2 s
 * and starts over when a session has applied something. The loss of the lock leads back to *standby*, `stop` ends all.
 * Whatever a session knew is dropped with it: the next one starts from the stored checkpoints.
 */
export class ProjectionRunner {
  private readonly pool: Pool;
  private readonly lock: LeaderLock;
  private session: ProjectionSession | undefined;
  private mode: RunnerState['mode'] = 'standby';
  private lastError: string | undefined;
  private leading: Promise<void> = Promise.resolve();
  private leads = 0;
  private retry = FIRST_RETRY;
  private wake: (() => void) | undefined;
  private look: Timer | undefined;
  private readonly rebuilds = new Map<string, Promise<void>>();
  private readonly ending = new AbortController();

  constructor(private readonly options: ProjectionRunnerOptions) {
    this.pool = new pg.Pool({
      connectionString: options.url,
      max: options.projections.length + 2,
      application_name: 'escalon projections',
      keepAlive: true,
      connectionTimeoutMillis: 10_000,
      // A commit that a crash of Postgres undoes takes its checkpoint with it, so its events are applied again.
      options: '-c synchronous_commit=off',
    });
    // An idle connection that breaks is replaced by the pool.
    this.pool.on('error', () => undefined);
    this.lock = new LeaderLock({
      url: options.url,
      name: PROJECTION_LOCK,
      timers: options.timers,
      onAcquired: () => this.onAcquired(),
      onLost: (cause) => this.onLost(cause),
      onTrouble: (error) => this.note('the database cannot be reached', error),
    });
  }

  start(): void {
    this.lock.start();
    this.look ??= this.options.timers.every(LOOK_INTERVAL, () => void this.lookForRebuilt());
  }

  /** Ends after the batch under way; a rebuild under way is cancelled. */
  async stop(): Promise<void> {
    this.mode = 'stopped';
    this.leads += 1;
    this.look?.cancel();
    this.ending.abort();
    this.session?.close();
    this.wake?.();
    await this.leading;
    await Promise.allSettled(this.rebuilds.values());
    await this.lock.stop();
    await this.pool.end();
  }

  /** A reader waits until the projections have passed the position: they do as soon as they can. */
  hurry(position: Position): void {
    this.session?.hurry(position);
  }

  state(): RunnerState {
    const projections = this.session?.projections ?? [];
    return {
      mode: this.mode,
      current: this.session?.current ?? false,
      lastError: this.lastError,
      backlog: this.session?.backlog ?? 0,
      projections: projections.map(({ name, position, failure }) => ({ name, position, failure: failure?.message })),
    };
  }

  private onAcquired(): void {
    this.leads += 1;
    const lead = this.leads;
    this.retry = FIRST_RETRY;
    this.leading = this.leading.then(() => this.lead(lead));
  }

  private onLost(cause: Error): void {
    this.leads += 1;
    this.note('the projections may be run by another process now', cause);
    if (this.mode !== 'stopped') this.mode = 'standby';
    this.session?.close();
    this.wake?.();
  }

  /** Session after session, for as long as this term of leading lasts. */
  private async lead(lead: number): Promise<void> {
    this.options.log?.info({}, 'this process runs the projections');
    while (this.leads === lead) {
      try {
        await this.runSession(lead);
      } catch (error) {
        this.note('a projection session ended; the next one starts from the stored checkpoints', error);
      }
      if (this.leads === lead) await this.waitToRetry();
    }
  }

  private async runSession(lead: number): Promise<void> {
    this.mode = 'opening';
    const session = new ProjectionSession({
      ...this.options,
      pool: this.pool,
      batchSize: this.options.batchSize ?? 500,
      writer: {
        capacity: this.options.rowsInMemory ?? 20_000,
        strict: false,
        ...(this.options.onMoment ? { onMoment: this.options.onMoment } : {}),
      },
      onPassed: (names, position) => this.passed(names, position),
      onFailed: (name, error) => this.note(`projection ${name} stopped`, error),
    });
    await session.open();
    for (const outdated of session.outdated) this.bringUpToDate(outdated);
    if (this.leads !== lead) return;
    this.session = session;
    this.mode = 'running';
    try {
      await session.run();
    } finally {
      this.session = undefined;
    }
  }

  private async passed(names: readonly string[], position: Position): Promise<void> {
    this.retry = FIRST_RETRY;
    this.lastError = undefined;
    this.options.onPassed?.(names, position);
    const message = JSON.stringify({ names, position: position.toString() });
    await this.lock.query('SELECT pg_notify($1, $2)', [PROJECTION_CHANNEL, message]);
  }

  private async waitToRetry(): Promise<void> {
    this.mode = 'waiting';
    let timer: Timer | undefined;
    await new Promise<void>((resolve) => {
      this.wake = resolve;
      timer = this.options.timers.after(this.retry, resolve);
    });
    timer?.cancel();
    this.retry = Math.min(LAST_RETRY, this.retry * 2);
  }

  /** Tables of an older version are replaced while the other projections go on; those of a newer one are left alone. */
  private bringUpToDate({ projection, storedVersion }: Outdated): void {
    const { name, version } = projection;
    if (storedVersion > version) {
      this.note(
        `projection ${name} is left out`,
        new Error(`its tables have version ${storedVersion}, this code ${version}`),
      );
      return;
    }
    if (this.rebuilds.has(name)) return;
    this.options.log?.info(
      { projection: name, from: storedVersion, to: version },
      'rebuilding a projection of an older version',
    );
    const { store, clock } = this.options;
    const rebuild = rebuildProjection({ pool: this.pool, store, projection, clock, signal: this.ending.signal }).then(
      () => this.session?.close(),
      (error: unknown) => this.note(`the rebuild of projection ${name} failed`, error),
    );
    this.rebuilds.set(
      name,
      rebuild.then(() => void this.rebuilds.delete(name)),
    );
  }

  /** A rebuild elsewhere may have replaced what failed here, or what was too old. */
  private async lookForRebuilt(): Promise<void> {
    const { session } = this;
    const failed = session?.projections.filter(({ failure }) => failure) ?? [];
    const stuck = [...failed, ...(session?.outdated ?? [])].map(({ projection }) => projection);
    for (const { name, version } of stuck) {
      const stored = await readCheckpoint(this.pool, name).catch(() => undefined);
      const replaced = failed.some((one) => one.name === name && one.generation !== stored?.generation);
      const caughtUp = session?.outdated.some(({ projection }) => projection.name === name);
      if (stored?.version === version && (replaced || caughtUp)) return session?.close();
    }
  }

  private note(message: string, error: unknown): void {
    const text = error instanceof Error ? error.message : String(error);
    this.lastError = `${message}: ${text}`;
    this.options.log?.error({ error: text }, message);
  }
}
