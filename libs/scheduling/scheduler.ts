import { toMillis } from '#kernel';
import type { Clock, Ids, Millis, Random, Timer, Timers } from '#kernel';
import { hasTargets, JOB_STREAM_PREFIX, jobIdOfExecution } from '#jobs';
import type { JobCommand, JobRequeued, JobState } from '#jobs';
import { NODE_STREAM_PREFIX } from '#nodes';
import type { CapacityReleased, CapacityReserved } from '#nodes';
import type { RecordedEvent } from '#event-store';
import { projectShare } from '#placement';
import type { ClusterJob } from '#placement';
import { EvaluationBroker } from './broker/evaluation-broker.js';
import type { BrokerCounts } from './broker/evaluation-broker.js';
import type { Commands, SchedulingLog, SchedulingObserver, SchedulingOptions } from './ports.js';
import { DeadLetters } from './queue/dead-letters.js';
import { LookRequests, START, SWEEP } from './queue/look-requests.js';
import { changeOf, turnCame } from './queue/news.js';
import type { Change } from './queue/news.js';
import { Passes } from './queue/passes.js';
import { PoolFronts } from './queue/pool-fronts.js';
import { SupersededEvaluations } from './queue/superseded-evaluations.js';
import { WaitingClasses } from './queue/waiting-classes.js';
import type { ClusterView } from './view/cluster-view.js';
import type { SchedulerProvider } from './worker/job-scheduler.js';
import { Worker } from './worker/worker.js';
import { WorkerPool } from './worker/worker-pool.js';

export interface SchedulerParts {
  readonly view: ClusterView;
  readonly schedulers: SchedulerProvider;
  readonly jobs: Commands<JobCommand, JobState>;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly ids: Ids;
  readonly log: SchedulingLog;
  readonly observer: SchedulingObserver;
  readonly options: SchedulingOptions;
}

/** Events of a job that ask for a look at that job. */
const LOOKS: ReadonlySet<string> = new Set([
  'JobSubmitted',
  'DependenciesMet',
  'JobResumed',
  'JobPriorityChanged',
  // What it waited for may have been that part's alone.
  'PartitionFailed',
]);
/** After these there is nothing to place. */
const HOLDS: ReadonlySet<string> = new Set(['JobPaused', 'JobCancelRequested']);
const ENDS: ReadonlySet<string> = new Set(['JobCompleted', 'JobFailed', 'JobCancelled']);

const GATHER_POOLS: Millis = 1_000;

/** What the broker has, and how many jobs wait in classes until an event may help. */
export interface SchedulerCounts extends BrokerCounts {
  readonly blocked: number;
}

/**
 * Which job is looked at when.
 *
 * What asks for a look at a job becomes an evaluation in the broker, which hands it to a worker when its turn comes: by
 * priority, share of its project and age, never two of a job at once. A job that was looked at and is not placeable leaves
 * the broker and waits in the class of its shape, whose first is looked at for all of them when an event may help it, at the
 * class's moment (`wakesAt`), or by the sweep. The end of a backoff is an evaluation that waits in the broker. A job leaves
 * when it ended, is paused, or has all its reservations.
 *
 * The loop starts with `start` (what waited before waits again, and the first of each class is looked at), is driven by
 * events, the broker's timers and the ends of passes alone, and ends with `stop`, which lets passes under way finish.
 */
export class Scheduler {
  private readonly broker: EvaluationBroker;
  private readonly looks: LookRequests;
  private readonly waiting: WaitingClasses;
  private readonly passes: Passes;
  private readonly deadLetters: DeadLetters;
  private readonly superseded: SupersededEvaluations;
  private readonly workers: WorkerPool;
  private stopListening: (() => void)[] = [];
  private sweeper: Timer | undefined;
  private fronts = new PoolFronts();
  private poolsChanged: Timer | undefined;
  private running = false;

  constructor(private readonly parts: SchedulerParts) {
    const { view, clock, options } = parts;
    const { aging } = options;
    const shareOf = (project: string): number => projectShare(view.cluster, project, clock.now());
    this.broker = new EvaluationBroker({ ...parts, shareOf, superseded: () => this.superseded.tell() });
    const shared = { ...parts, broker: this.broker };
    this.looks = new LookRequests(shared);
    this.waiting = new WaitingClasses({ ...shared, looks: this.looks, aging });
    this.passes = new Passes({ ...shared, looks: this.looks, waiting: this.waiting });
    this.deadLetters = new DeadLetters({ ...shared, passes: this.passes });
    this.superseded = new SupersededEvaluations(shared);
    const worker = (provider: SchedulerProvider): Worker =>
      new Worker({ ...shared, provider, fault: (kind, type) => parts.observer.workerFault?.(kind, type) });
    const workers = Array.from({ length: options.workers }, () => worker(this.passes));
    this.workers = new WorkerPool([...workers, worker(this.deadLetters)]);
  }

  start(): void {
    this.running = true;
    const { view, timers, options } = this.parts;
    this.broker.switchOn();
    this.stopListening = [view.listen((event) => this.hear(event)), view.onReturn(() => this.retryFaulted())];
    this.sweeper = timers.every(options.sweepInterval, () => this.sweep());
    for (const job of view.cluster.jobs.values()) this.takeUp(job);
    for (const jobId of this.waiting.heads()) this.looks.ask(jobId, START);
    this.fronts = new PoolFronts();
    for (const { is } of this.fronts.moved(view.cluster)) if (is !== undefined) this.looks.ask(is, START);
    this.looks.flush();
    this.workers.start();
  }

  async stop(): Promise<void> {
    this.running = false;
    for (const stop of this.stopListening.splice(0)) stop();
    this.sweeper?.cancel();
    this.poolsChanged?.cancel();
    this.poolsChanged = undefined;
    this.waiting.stop();
    this.passes.stop();
    this.deadLetters.stop();
    const stopped = this.workers.stop();
    await this.workers.quiet();
    this.broker.switchOff();
    await stopped;
    await this.superseded.stop();
  }

  get counts(): SchedulerCounts {
    return { ...this.broker.counts, blocked: this.waiting.size };
  }

  /** Resolves when nothing is ready or in flight. */
  async whenIdle(): Promise<void> {
    for (let counts = this.counts; this.running && counts.ready + counts.inFlight > 0; counts = this.counts) {
      await this.workers.quiet();
    }
  }

  /** A claim that was taken for granted came to nothing: no event tells of the room that is free again. */
  claimFailed(nodeId: string): void {
    this.learn({ type: 'CapacityReleased', nodeId });
    this.looks.flush();
  }

  /**
   * What had its answer before needs no new one: the first of its shape is asked whether that has changed. Who belongs to a job
   * with targets may have changed with none of its parts waiting.
   */
  private takeUp(job: ClusterJob): void {
    if (hasTargets(job.spec.type)) return this.looks.ask(job.id, START);
    if (job.paused || job.cancelRequested) return;
    const now = this.parts.clock.now();
    const waiting = job.partitions.filter(({ state }) => state === 'waiting');
    const dues = waiting.map(({ notBefore }) => (notBefore === undefined ? now : toMillis(notBefore)));
    if (dues.length === 0) return;
    const first = Math.min(...dues);
    if (first > now) this.looks.ask(job.id, 'BackoffEnded', first);
    else if (dues.some((due) => due > now) || !this.waiting.resume(job)) this.looks.ask(job.id, START);
  }

  private hear(event: RecordedEvent): void {
    if (event.stream.startsWith(JOB_STREAM_PREFIX)) this.hearJob(event);
    if (event.type === 'CapacityReleased') this.hearRelease(event);
    const change = changeOf(event, this.parts.view.cluster);
    if (change) this.learn(change);
    this.hearTurns(event);
    this.looks.flush();
  }

  /** The first in line is looked at as such, and whoever was it as one of many; for those behind it other nodes may be free now. */
  private hearTurns(event: RecordedEvent): void {
    if (event.type === 'NodePoolChanged') this.lineUpAgain();
    if (event.type === 'CapacityReserved') this.hearClaim(event);
    const moved = this.fronts.moved(this.parts.view.cluster);
    if (moved.length === 0) return;
    const change = turnCame(event);
    for (const { was, is, isNew } of moved) {
      const hasGoneBack = was !== undefined && was !== is && was !== change.by;
      if (hasGoneBack && this.waiting.has(was)) this.looks.ask(was, change.type);
      if (is !== undefined && (is !== was || isNew)) this.looks.ask(is, change.type);
    }
    this.learn(change);
  }

  /** The first in line may wait for its project's quota or share from now on, and not for a node of the pool. */
  private hearClaim({ stream, data }: RecordedEvent): void {
    const { cluster } = this.parts.view;
    if (cluster.pools.size === 0) return;
    const { project } = data as CapacityReserved['data'];
    const quota = cluster.projects.get(project)?.quota ?? {};
    const shares = cluster.nodes.get(stream.slice(NODE_STREAM_PREFIX.length))?.policy.maxShare;
    if (Object.keys(quota).length === 0 && shares === undefined) return;
    for (const { front } of cluster.pools.values()) {
      if (front && cluster.jobs.get(front.jobId)?.project === project) this.looks.ask(front.jobId, 'CapacityReserved');
    }
  }

  /**
   * Whoever waits may stand in other lines from now on, not the first of its class alone. A pool of many nodes changes in
   * many events.
   */
  private lineUpAgain(): void {
    this.poolsChanged ??= this.parts.timers.after(GATHER_POOLS, () => {
      this.poolsChanged = undefined;
      for (const jobId of this.waiting.all()) this.looks.ask(jobId, 'NodePoolChanged');
      this.looks.flush();
    });
  }

  /** A job that waits and holds nothing any more has another shape. */
  private hearRelease({ data }: RecordedEvent): void {
    const jobId = jobIdOfExecution((data as CapacityReleased['data']).executionId);
    if (this.waiting.has(jobId)) this.looks.ask(jobId, 'CapacityReleased');
  }

  private learn(change: Change): void {
    this.passes.learn(change);
    this.waiting.wake(change);
  }

  private hearJob({ stream, type, data }: RecordedEvent): void {
    const jobId = stream.slice(JOB_STREAM_PREFIX.length);
    const job = this.parts.view.cluster.jobs.get(jobId);
    if (type === 'JobPriorityChanged' && job) this.broker.setPriority({ jobId, project: job.project }, job.priority);
    if (LOOKS.has(type)) this.looks.ask(jobId, type);
    else if (type === 'JobRequeued') this.hearRequeued(jobId, data as JobRequeued['data']);
    else if (ENDS.has(type)) this.setAside(jobId);
    else if (HOLDS.has(type)) {
      this.setAside(jobId);
      if (job && job.executions.size > 0) this.looks.ask(jobId, type);
    }
    // Placed by another process: a quota of jobs counts it now, so it may have more.
    else if (type === 'ExecutionReserved' && this.waiting.has(jobId)) this.looks.ask(jobId, type);
  }

  /** Others of its parts may wait, and by this have another shape. */
  private hearRequeued(jobId: string, { notBefore }: JobRequeued['data']): void {
    if (this.waiting.has(jobId)) this.looks.ask(jobId, 'JobRequeued');
    else this.looks.ask(jobId, 'JobRequeued', toMillis(notBefore));
  }

  private setAside(jobId: string): void {
    const looking = this.broker.isLookedAt(jobId);
    this.broker.forget(jobId);
    this.passes.forget(jobId);
    if (looking) this.waiting.leave(jobId);
    else this.waiting.remove(jobId);
  }

  /** The store is back: what failed while it was away need not wait for its next try, or for an event. */
  private retryFaulted(): void {
    for (const jobId of this.passes.givenUp) this.looks.ask(jobId, 'StoreReturned');
    this.looks.flush();
    this.broker.retryAtOnce();
  }

  /** What is being looked at was woken. */
  private sweep(): void {
    for (const jobId of this.waiting.heads()) if (!this.broker.isLookedAt(jobId)) this.looks.ask(jobId, SWEEP);
    this.looks.flush();
  }
}
