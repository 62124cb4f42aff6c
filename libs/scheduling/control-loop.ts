import type { Clock, Ids, Random, Timers } from '#kernel';
import type { CommandHandler } from '#event-store';
import type { JobCommand, JobEvent, JobState } from '#jobs';
import type { NodeCommand, NodeEvent, NodeState } from '#nodes';
import { Assumptions } from './planner/assumptions.js';
import { LoggingPlanner } from './planner/logging.js';
import { MetricsPlanner } from './planner/metrics.js';
import { PlannerChain } from './planner/planner.js';
import { StateUpdater } from './planner/state-updater.js';
import { DEFAULT_SCHEDULING } from './ports.js';
import type { PresenceSource, SchedulingLog, SchedulingObserver, SchedulingOptions } from './ports.js';
import { CapacityReleaser } from './reactors/capacity-releaser.js';
import { Dependencies } from './reactors/dependencies.js';
import { DrainDeadlines } from './reactors/drain-deadlines.js';
import { MaintenanceStarts } from './reactors/maintenance-starts.js';
import { MissedEnds } from './reactors/missed-ends.js';
import { JobTimeouts } from './reactors/job-timeouts.js';
import { PresenceMonitor } from './reactors/presence-monitor.js';
import { ReservationTimers } from './reactors/reservation-timers.js';
import { Scheduler } from './scheduler.js';
import { schedulersOfTypes } from './schedulers/provider.js';
import type { ClusterView } from './view/cluster-view.js';
import { JobSpans } from './view/job-spans.js';

export interface ControlLoopParts {
  /** Followed by its owner, before, during and after this loop. */
  readonly view: ClusterView;
  readonly jobs: CommandHandler<JobCommand, JobEvent, JobState>;
  readonly nodes: CommandHandler<NodeCommand, NodeEvent, NodeState>;
  readonly presence: PresenceSource;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly ids: Ids;
  readonly log: SchedulingLog;
  readonly observer?: SchedulingObserver;
  readonly options?: Partial<SchedulingOptions>;
}

/**
 * The scheduler's role in one process: the loops that act on a view of the cluster.
 *
 * `start` waits until the view is live, then starts presence, reservation timers, timeouts, dependencies, drains, maintenance,
 * missed ends, releases and the scheduler, each of which first makes up for what happened while nobody looked. Any number of
 * processes may run this at once: they only cost each other conflicts. `stop` lets what is under way finish.
 */
export class ControlLoop {
  readonly scheduler: Scheduler;
  private readonly releaser: CapacityReleaser;
  private readonly reservations: ReservationTimers;
  private readonly timeouts: JobTimeouts;
  private readonly dependencies: Dependencies;
  private readonly drains: DrainDeadlines;
  private readonly maintenance: MaintenanceStarts;
  private readonly missedEnds: MissedEnds;
  private readonly presence: PresenceMonitor;
  private readonly spans: JobSpans;
  private readonly view: ClusterView;
  private stopped = false;
  private acting = false;

  constructor(parts: ControlLoopParts) {
    this.view = parts.view;
    const options = { ...DEFAULT_SCHEDULING, ...parts.options };
    const shared = { ...parts, observer: parts.observer ?? {}, options };
    const assumptions = new Assumptions(parts.view, (nodeId) => this.scheduler.claimFailed(nodeId));
    const planner = new PlannerChain([
      new StateUpdater({ ...shared, assumptions }),
      new LoggingPlanner(shared.log),
      new MetricsPlanner(shared.observer),
    ]);
    this.scheduler = new Scheduler({ ...shared, schedulers: schedulersOfTypes({ ...shared, planner }) });
    this.releaser = new CapacityReleaser(shared);
    this.reservations = new ReservationTimers(shared);
    this.timeouts = new JobTimeouts(shared);
    this.dependencies = new Dependencies(shared);
    this.drains = new DrainDeadlines(shared);
    this.maintenance = new MaintenanceStarts(shared);
    this.missedEnds = new MissedEnds(shared);
    this.presence = new PresenceMonitor(shared);
    this.spans = new JobSpans(shared);
  }

  async start(): Promise<void> {
    await this.view.whenReady();
    if (this.stopped) return;
    this.acting = true;
    this.spans.start();
    this.presence.start();
    this.reservations.start();
    this.timeouts.start();
    this.dependencies.start();
    this.drains.start();
    this.maintenance.start();
    this.missedEnds.start();
    this.releaser.start();
    this.scheduler.start();
  }

  async stop(): Promise<void> {
    this.stopped = true;
    if (!this.acting) return;
    await this.scheduler.stop();
    this.spans.stop();
    this.reservations.stop();
    this.timeouts.stop();
    await this.dependencies.stop();
    this.drains.stop();
    this.maintenance.stop();
    this.missedEnds.stop();
    await this.presence.stop();
    await this.releaser.stop();
  }
}
