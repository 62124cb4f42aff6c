import { systemRandom, systemStopwatch } from '#kernel';
import type { Millis, Timer } from '#kernel';
import {
  PostgresIdempotencyStore,
  PostgresPresenceStore,
  PostgresSubscriberPositions,
  ProgressStore,
} from '#read-store';
import { LeaderLock, ProjectionPositions, ProjectionRunner, migrate } from '#read-store';
import { ControlLoop } from '#scheduling';
import type { SchedulingObserver } from '#scheduling';
import type { Parts } from './parts.js';
import { Subscribers } from './subscribers.js';

const SCHEDULER_LOCK = 'scheduler';
const RETRY_AFTER: Millis = 1_000;
const LOOK_AFTER: Millis = 50;
const PURGE_INTERVAL: Millis = 3_600_000;

/**
 * Opens and closes what the process holds, in order.
 *
 * *Starting*: the database (tried again until it is there), then the view of the log, then the roles of this process.
 * *Serving*: the projector and the scheduler run wherever Postgres grants their lock; losing one stops that role until
 * it is granted again. *Stopping*: first no new work, then the loops, then the connections.
 */
export class Lifecycle {
  readonly positions: ProjectionPositions;
  readonly presence: PostgresPresenceStore;
  readonly progress: ProgressStore;
  readonly answers: PostgresIdempotencyStore;
  readonly runner: ProjectionRunner | undefined;
  private readonly subscribers: Subscribers | undefined;
  private readonly leader: LeaderLock | undefined;
  private loop: ControlLoop | undefined;
  private changing: Promise<void> = Promise.resolve();
  private gauge: Timer | undefined;
  private purge: Timer | undefined;
  private serving = false;
  private stopped = false;

  constructor(private readonly parts: Parts) {
    const { config, store, clock, timers, log, projections } = parts;
    parts.metrics.schedulerCounts = () => this.loop?.scheduler.counts;
    const url = config.databaseUrl;
    this.positions = new ProjectionPositions({ url, timers, onWait: (position) => this.runner?.hurry(position) });
    this.presence = new PostgresPresenceStore(parts.readStore, clock, timers, log);
    this.answers = new PostgresIdempotencyStore(parts.readStore, clock);
    this.progress = new ProgressStore(parts.readStore, clock, timers, log);
    if (config.roles.includes('projector')) {
      const onPassed = this.positions.advance;
      this.runner = new ProjectionRunner({ url, store, projections, clock, timers, log, onPassed });
      this.subscribers = this.subscribersOf(url);
    }
    if (this.schedules && config.schedulerLock) this.leader = this.leaderLock(url);
  }

  /** True while the process can do its work and takes it. */
  get serves(): boolean {
    return this.serving;
  }

  /** Resolves when the process serves; never when it is stopped before. */
  async start(): Promise<void> {
    await this.openDatabase();
    await this.positions.start();
    this.parts.view.start();
    await this.parts.view.whenReady();
    if (this.stopped) return;
    this.presence.start();
    this.progress.start();
    this.runner?.start();
    this.subscribers?.start();
    this.leader?.start();
    if (this.schedules && !this.leader) void this.change(() => this.startLoop());
    await this.readModelsMade();
    this.gauge = this.parts.timers.every(1_000, () => this.measure());
    this.purge = this.parts.timers.every(PURGE_INTERVAL, () => void this.dropOldAnswers());
    this.serving = true;
  }

  /** No new work is taken, and waits end. */
  stopServing(): void {
    this.serving = false;
    this.stopped = true;
    this.parts.board.stop();
  }

  async stop(): Promise<void> {
    this.stopServing();
    this.gauge?.cancel();
    this.purge?.cancel();
    await this.change(() => this.stopLoop());
    await this.leader?.stop();
    await this.runner?.stop();
    await this.subscribers?.stop();
    await this.presence.stop();
    await this.progress.stop();
    await this.parts.view.stop();
    await this.parts.store.close();
    await this.positions.stop();
    if (this.parts.readStore.isInitialized) await this.parts.readStore.destroy();
  }

  /** What is not well, by part; empty means ready. */
  async unreadiness(): Promise<Readonly<Record<string, string>>> {
    const wrong: Record<string, string> = {};
    const { store, view } = this.parts;
    if (!this.serving) wrong.process = 'starting or stopping';
    const { connected, lastError } = store.status();
    if (!connected) wrong.eventStore = lastError ?? 'not connected';
    if (!view.ready) wrong.view = 'does not follow the event store';
    try {
      const missing = await this.missingTables();
      if (missing.length > 0) wrong.readModels = `not made yet: ${missing.join(', ')}`;
    } catch (error) {
      wrong.database = error instanceof Error ? error.message : 'does not answer';
    }
    return wrong;
  }

  /** A new database gets its read models from whichever process projects; queries need them. */
  private async readModelsMade(): Promise<void> {
    while (!this.stopped) {
      const missing = await this.missingTables().catch(() => ['the database']);
      if (missing.length === 0) return;
      await new Promise<void>((resolve) => void this.parts.timers.after(LOOK_AFTER, resolve));
    }
  }

  private async missingTables(): Promise<string[]> {
    const names = this.parts.projections.flatMap(({ tables }) => tables.map(({ name }) => name));
    const sql = 'SELECT name FROM unnest($1::text[]) AS name WHERE to_regclass(name) IS NULL';
    const rows = await this.parts.readStore.query<{ name: string }[]>(sql, [names]);
    return rows.map(({ name }) => name);
  }

  private get schedules(): boolean {
    return this.parts.config.roles.includes('scheduler');
  }

  get leads(): boolean {
    return this.loop !== undefined;
  }

  private async openDatabase(): Promise<void> {
    const { readStore, timers, log } = this.parts;
    while (!this.stopped) {
      try {
        if (!readStore.isInitialized) await readStore.initialize();
        await migrate(readStore);
        return;
      } catch (error) {
        log.warn({ err: error }, 'the database cannot be opened yet, it is tried again');
        await new Promise<void>((resolve) => void timers.after(RETRY_AFTER, resolve));
      }
    }
  }

  private subscribersOf(databaseUrl: string): Subscribers {
    const { config, store, clock, timers, log, metrics, readStore } = this.parts;
    const told = (result: string) => (subscriber: string) => metrics.deliveries.inc({ subscriber, result });
    return new Subscribers({
      configured: config.subscribers,
      ...{ databaseUrl, store, clock, timers, log },
      positions: new PostgresSubscriberPositions(readStore),
      observer: { delivered: told('delivered'), failed: told('failed'), gaveUp: told('given-up') },
    });
  }

  private leaderLock(url: string): LeaderLock {
    const { timers, log } = this.parts;
    return new LeaderLock({
      url,
      timers,
      name: SCHEDULER_LOCK,
      onAcquired: () => void this.change(() => this.startLoop()),
      onLost: (cause) => {
        log.warn({ err: cause }, 'another process may schedule now');
        void this.change(() => this.stopLoop());
      },
    });
  }

  /** Starts and stops follow each other, whatever the lock does meanwhile. */
  private change(step: () => Promise<void>): Promise<void> {
    this.changing = this.changing.then(step).catch((error: unknown) => {
      this.parts.log.error({ err: error }, 'the scheduler did not start or stop in order');
    });
    return this.changing;
  }

  private async startLoop(): Promise<void> {
    const { view, jobs, nodes, clock, timers, ids, log, config } = this.parts;
    const { offlineAfter, lostAfter, runGrace, sweepInterval, aging, workers } = config;
    const spans = { offlineAfter: offlineAfter * 1000, lostAfter: lostAfter * 1000, runGrace: runGrace * 1000 };
    const options = { ...spans, sweepInterval: sweepInterval * 1000, aging: aging * 1000, workers };
    const shared = { view, jobs, nodes, clock, timers, random: systemRandom, ids, log, options };
    this.loop = new ControlLoop({ ...shared, presence: this.presence, observer: this.observer() });
    await this.loop.start();
    log.info({}, 'this process schedules');
  }

  private async stopLoop(): Promise<void> {
    const { loop } = this;
    this.loop = undefined;
    await loop?.stop();
  }

  private observer(): SchedulingObserver {
    const { metrics } = this.parts;
    return {
      stopwatch: systemStopwatch,
      decided: (outcome, millis) => {
        metrics.decisions.inc({ outcome });
        metrics.decisionSeconds.observe(millis / 1000);
      },
      planned: (counts) => {
        metrics.plans.inc();
        for (const [kind, count] of Object.entries(counts)) if (count > 0) metrics.planned.inc({ kind }, count);
      },
      conflict: (stream) => metrics.refusals.inc({ stream }),
      waited: (millis) => metrics.queueWait.observe(millis / 1000),
      ran: (result, millis) => metrics.runSeconds.observe({ result }, millis / 1000),
      filtered: (reason, nodes) => metrics.filtered.inc({ reason }, nodes),
      expired: () => metrics.expiries.inc(),
      lost: () => metrics.lost.inc(),
      timedOut: () => metrics.timedOut.inc(),
      workerFault: (kind, type) => {
        if (kind === 'dequeue') metrics.workerFaults.dequeue.inc();
        else metrics.workerFaults[kind].inc({ eval_type: type ?? '' });
      },
      deadLettered: () => metrics.deadLettered.inc(),
      superseded: (count) => metrics.superseded.inc(count),
      overlooked: () => metrics.overlooked.inc(),
    };
  }

  private async dropOldAnswers(): Promise<void> {
    try {
      await this.answers.purge();
    } catch (error) {
      this.parts.log.warn({ err: error }, 'old answers were not dropped, it is tried again');
    }
  }

  private measure(): void {
    const { subscriberLag, subscriberWaiting } = this.parts.metrics;
    for (const { name, behind, waiting } of this.subscribers?.statuses ?? []) {
      subscriberLag.set({ subscriber: name }, behind / 1000);
      subscriberWaiting.set({ subscriber: name }, waiting);
    }
  }
}
