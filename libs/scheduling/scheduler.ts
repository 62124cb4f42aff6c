import { toInstant, toMillis } from '#kernel';
import type { Clock, Ids, Instant, Timer, Timers } from '#kernel';
import { hasTargets, JOB_STREAM_PREFIX, jobIdOfExecution } from '#jobs';
import type { JobSpec } from '#jobs';
import type { CapacityReleased } from '#nodes';
import type { RecordedEvent } from '#event-store';
import { nextRequest, projectShare, requestOf } from '#placement';
import type { ClusterJob } from '#placement';
import { evaluationOf } from './broker/evaluation.js';
import type { SchedulingLog, SchedulingObserver, SchedulingOptions } from './ports.js';
import { Alarms } from './alarms.js';
import { changeOf, mayHelp, News } from './queue/news.js';
import type { Change } from './queue/news.js';
import { ReadyJobs } from './queue/ready-jobs.js';
import type { Ready } from './queue/ready-jobs.js';
import { shapeOf } from './queue/shape.js';
import type { Turn } from './queue/turn.js';
import type { Answer } from './queue/waiting-jobs.js';
import { WaitingJobs } from './queue/waiting-jobs.js';
import type { ClusterView } from './view/cluster-view.js';
import type { EvaluationOutcome, SchedulerProvider } from './worker/job-scheduler.js';

export interface SchedulerParts {
  readonly view: ClusterView;
  readonly schedulers: SchedulerProvider;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly ids: Ids;
  readonly log: SchedulingLog;
  readonly observer: SchedulingObserver;
  readonly options: Pick<SchedulingOptions, 'concurrency' | 'sweepInterval'>;
}

/** Events of a job that ask for a look at that job. */
const LOOKS: ReadonlySet<string> = new Set(['JobSubmitted', 'JobRequeued', 'JobResumed', 'JobPriorityChanged']);
const ENDS: ReadonlySet<string> = new Set([
  'JobCompleted',
  'JobFailed',
  'JobCancelled',
  'JobCancelRequested',
  'JobPaused',
]);

/** Faults of one job in a row: 1 s, 2 s, 4 s … 30 s between the tries. */
const FAULT_DELAY = { first: 1_000, most: 30_000 };
const SWEEP = 'sweep';
/** Passes in a row that a conflict may cut short before the job steps back for a moment. */
const MOST_CONFLICTS = 10;

/**
 * Which job is looked at when.
 *
 * Each job is in one place at a time. *Ready*: to be looked at, by priority, share of its project and age. *In flight*:
 * being evaluated, never twice at once; what asks for it meanwhile is kept and makes it ready again right after.
 * *Waiting*: looked at and not placeable, in the class of its shape, whose first is looked at for all of them when an event
 * may help it, at the class's moment (`wakesAt`), or by the sweep. *Delayed*: until the end of a backoff. A job leaves when
 * it ended, is paused, or has all its reservations.
 *
 * The loop starts with `start` (what waited before waits again, and the first of each class is looked at), is driven by
 * events and ends of evaluations alone, and ends with `stop`, which lets evaluations under way finish.
 */
export class Scheduler {
  private readonly ready = new ReadyJobs();
  /** By job: how much was known when its evaluation began, oldest first. */
  private readonly inFlight = new Map<string, { readonly known: number; readonly done: Promise<void> }>();
  private readonly askedAgain = new Map<string, string>();
  private readonly waiting = new WaitingJobs();
  /** When time alone may help a class, by shape; and the ends of backoffs, by job. */
  private readonly moments: Alarms;
  private readonly delayed: Alarms;
  private readonly faults = new Map<string, number>();
  private readonly conflicts = new Map<string, number>();
  private readonly news = new News();
  private stopListening: (() => void)[] = [];
  private sweeper: Timer | undefined;
  private running = false;
  private idleWaiters: (() => void)[] = [];

  constructor(private readonly parts: SchedulerParts) {
    this.moments = new Alarms(parts.clock, parts.timers);
    this.delayed = new Alarms(parts.clock, parts.timers);
  }

  start(): void {
    this.running = true;
    const { view } = this.parts;
    this.stopListening = [view.listen((event) => this.hear(event)), view.onReturn(() => this.retryFaulted())];
    this.sweeper = this.parts.timers.every(this.parts.options.sweepInterval, () => this.sweep());
    for (const job of this.parts.view.cluster.jobs.values()) this.takeUp(job);
    for (const { turn } of this.waiting.heads()) this.ask(turn.jobId, 'start');
    this.pump();
  }

  async stop(): Promise<void> {
    this.running = false;
    for (const stop of this.stopListening.splice(0)) stop();
    this.sweeper?.cancel();
    this.moments.stopAll();
    this.delayed.stopAll();
    await Promise.all([...this.inFlight.values()].map(({ done }) => done));
  }

  /** How many jobs are ready, in flight, waiting and delayed. */
  get counts(): { ready: number; inFlight: number; waiting: number; delayed: number } {
    const { ready, inFlight, waiting, delayed } = this;
    return { ready: ready.size, inFlight: inFlight.size, waiting: waiting.size, delayed: delayed.size };
  }

  /** Resolves when nothing is ready or in flight. */
  whenIdle(): Promise<void> {
    if (this.ready.size === 0 && this.inFlight.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.idleWaiters.push(resolve));
  }

  /** A claim that was taken for granted came to nothing: no event tells of the room that is free again. */
  claimFailed(nodeId: string): void {
    this.learn({ type: 'CapacityReleased', nodeId });
  }

  /**
   * What had its answer before needs no new one: the first of its shape is asked whether that has changed. Who belongs to a job
   * with targets may have changed with none of its parts waiting.
   */
  private takeUp(job: ClusterJob): void {
    const { lastDecision: last, partitions } = job;
    if (hasTargets(job.spec.type)) return this.ask(job.id, 'start');
    const waiting = partitions.filter(({ state }) => state === 'waiting');
    if (waiting.length === 0 || job.paused || job.cancelRequested) return;
    const now = toInstant(this.parts.clock.now());
    const due = waiting.every(({ notBefore }) => (notBefore ?? '') <= now);
    const answered = last !== undefined && last.outcome !== 'placed' && partitions[last.partition]?.state === 'waiting';
    const asks = (spec: JobSpec): boolean => spec === nextRequest(job, this.parts.clock.now()).spec;
    if (due && answered && asks(requestOf(job, last.partition).spec))
      this.waiting.add(turnOf(job), this.shapeOf(job), answerOf(last.wakesOn, last.digest, last.wakesAt));
    else this.ask(job.id, 'start');
  }

  private hear(event: RecordedEvent): void {
    if (event.stream.startsWith(JOB_STREAM_PREFIX)) this.hearJob(event);
    if (event.type === 'CapacityReleased') this.hearRelease(event);
    const change = changeOf(event, this.parts.view.cluster);
    if (change) this.learn(change);
    else this.pump();
  }

  /** A job that waits and holds nothing any more has another shape. */
  private hearRelease({ data }: RecordedEvent): void {
    const jobId = jobIdOfExecution((data as CapacityReleased['data']).executionId);
    if (this.waiting.has(jobId)) this.ask(jobId, 'CapacityReleased');
  }

  private learn(change: Change): void {
    this.news.add(change);
    for (const { turn, answer } of this.waiting.wokenBy(change.type)) {
      if (this.helps(change, turn.jobId, answer)) this.ask(turn.jobId, change.type);
    }
    this.pump();
  }

  private helps(change: Change, jobId: string, answer: Answer): boolean {
    const { cluster } = this.parts.view;
    const job = cluster.jobs.get(jobId);
    return job !== undefined && mayHelp(change, job, answer, cluster, this.parts.clock.now());
  }

  private hearJob(event: RecordedEvent): void {
    const jobId = event.stream.slice(JOB_STREAM_PREFIX.length);
    if (LOOKS.has(event.type)) this.ask(jobId, event.type);
    else if (ENDS.has(event.type)) this.forget(jobId);
    // Placed by another process: a quota of jobs counts it now, so it may have more.
    else if (event.type === 'ExecutionReserved' && this.waiting.has(jobId)) this.ask(jobId, event.type);
  }

  private ask(jobId: string, trigger: string): void {
    if (this.inFlight.has(jobId)) this.askedAgain.set(jobId, trigger);
    else this.enqueue(jobId, trigger);
  }

  private enqueue(jobId: string, trigger: string): void {
    const job = this.parts.view.cluster.jobs.get(jobId);
    if (!job) return;
    this.delayed.stop(jobId);
    const known = this.ready.get(jobId);
    if (known?.priority !== job.priority) this.ready.put({ ...turnOf(job), trigger });
    else if (known.trigger === SWEEP) known.trigger = trigger;
  }

  private forget(jobId: string): void {
    const looking = this.ready.get(jobId) !== undefined || this.inFlight.has(jobId);
    this.ready.remove(jobId);
    if (looking) this.leave(jobId);
    else this.waiting.remove(jobId);
    this.delayed.stop(jobId);
    this.faults.delete(jobId);
    this.conflicts.delete(jobId);
  }

  /** Whoever leaves its class at a look may have been woken for all of it: the next one is looked at. */
  private leave(jobId: string, shape = this.waiting.shapeOf(jobId)): void {
    this.waiting.remove(jobId);
    const next = shape === undefined ? undefined : this.waiting.head(shape);
    if (next) this.ask(next.jobId, 'TurnCame');
  }

  /** The store is back: what failed while it was away need not wait for its next try. */
  private retryFaulted(): void {
    const failed = [...this.faults.keys()];
    this.faults.clear();
    for (const jobId of failed) this.ask(jobId, 'StoreReturned');
    this.pump();
  }

  /** What is being looked at was woken. */
  private sweep(): void {
    for (const { turn } of this.waiting.heads()) if (!this.inFlight.has(turn.jobId)) this.enqueue(turn.jobId, SWEEP);
    this.pump();
  }

  /** Each evaluation takes what it claims for granted before it first waits, so the next choice sees it. */
  private pump(): void {
    const shareOf = (project: string): number => projectShare(this.parts.view.cluster, project, this.parts.clock.now());
    while (this.running && this.inFlight.size < this.parts.options.concurrency) {
      const next = this.ready.pop(shareOf);
      if (!next) break;
      const known = this.news.count;
      this.inFlight.set(next.jobId, { known, done: this.look(next, known) });
    }
    if (this.ready.size === 0 && this.inFlight.size === 0) for (const resolve of this.idleWaiters.splice(0)) resolve();
  }

  private async look(turn: Ready, known: number): Promise<void> {
    const outcome = await this.evaluate(turn);
    this.inFlight.delete(turn.jobId);
    if (!this.running) return;
    if (outcome) this.settle(turn, outcome, known);
    const again = this.askedAgain.get(turn.jobId);
    this.askedAgain.delete(turn.jobId);
    if (again !== undefined) this.enqueue(turn.jobId, again);
    const [oldest] = this.inFlight.values();
    this.news.drop(oldest?.known ?? this.news.count);
    this.pump();
  }

  /** A fault (store away, say) delays this job alone: nothing is lost, since what waits is in the log, and none waits for it. */
  private async evaluate({ jobId, trigger }: Ready): Promise<EvaluationOutcome | undefined> {
    try {
      const outcome = await this.process(jobId, trigger);
      this.faults.delete(jobId);
      return outcome;
    } catch (error) {
      const count = (this.faults.get(jobId) ?? 0) + 1;
      this.faults.set(jobId, count);
      this.parts.observer.fault?.();
      this.parts.log.warn({ jobId, err: error }, 'evaluation failed, it is tried again');
      this.leave(jobId);
      const span = Math.min(FAULT_DELAY.most, FAULT_DELAY.first * 2 ** (count - 1));
      // No longer the sweep's find: what came meanwhile may be what helps, and it asks for no job that is delayed.
      const next = trigger === SWEEP ? 'FaultEnded' : trigger;
      this.delayed.after(jobId, span, () => this.wake(jobId, next));
      return undefined;
    }
  }

  private process(jobId: string, trigger: string): Promise<EvaluationOutcome> {
    const { view, clock, ids, schedulers } = this.parts;
    const job = view.cluster.jobs.get(jobId);
    if (!job) return Promise.resolve({ kind: 'idle' });
    const first = job.decisions === 0 && trigger === 'JobSubmitted';
    const id = first ? job.evaluationId : ids.next();
    const evaluation = evaluationOf(job, { id, trigger, at: clock.now() });
    return schedulers.schedulerFor(evaluation.type).process(evaluation);
  }

  private settle(turn: Ready, outcome: EvaluationOutcome, known: number): void {
    const { jobId } = turn;
    if (outcome.kind !== 'again') this.conflicts.delete(jobId);
    switch (outcome.kind) {
      case 'placed':
        this.placed(turn);
        return;
      case 'waiting':
        this.wait(turn, outcome, known);
        return;
      case 'again':
        this.again(turn);
        return;
      case 'idle':
        this.leave(jobId);
        if (outcome.until !== undefined) {
          this.delayed.at(jobId, outcome.until, () => this.wake(jobId, 'BackoffEnded'));
        }
    }
  }

  /** The sweep is there for what an event should have woken: a job that it places shows that one was missed. */
  private placed({ jobId, trigger }: Ready): void {
    if (trigger === SWEEP && !this.askedAgain.has(jobId)) {
      this.parts.observer.overlooked?.();
      this.parts.log.error({ jobId }, 'the sweep placed a job that an event should have woken');
    }
    const job = this.parts.view.cluster.jobs.get(jobId);
    this.leave(jobId, this.waiting.shapeOf(jobId) ?? (job && this.shapeOf(job)));
  }

  private wait(turn: Ready, outcome: Extract<EvaluationOutcome, { kind: 'waiting' }>, known: number): void {
    const { jobId } = turn;
    const job = this.parts.view.cluster.jobs.get(jobId);
    if (!job) return;
    const shape = this.shapeOf(job);
    if (this.waiting.shapeOf(jobId) !== shape) this.leave(jobId);
    const answer = answerOf(outcome.wakesOn, outcome.reasons, outcome.wakesAt);
    this.waiting.add(turn, shape, answer);
    if (outcome.wakesAt === undefined) this.moments.stop(shape);
    else this.moments.at(shape, outcome.wakesAt, () => this.momentCame(shape));
    if (outcome.until !== undefined) this.delayed.at(jobId, outcome.until, () => this.wake(jobId, 'BackoffEnded'));
    const missed = this.news
      .since(known)
      .find((change) => outcome.wakesOn.includes(change.type) && this.helps(change, jobId, answer));
    if (missed) this.enqueue(jobId, missed.type);
  }

  private momentCame(shape: string): void {
    const head = this.waiting.head(shape);
    if (head) this.wake(head.jobId, 'MomentCame');
  }

  /** After a conflict the view has caught up with the winner, so the next look sees it. */
  private again({ jobId, trigger }: Ready): void {
    const count = (this.conflicts.get(jobId) ?? 0) + 1;
    this.conflicts.set(jobId, count);
    if (count % MOST_CONFLICTS === 0) this.delayed.after(jobId, FAULT_DELAY.first, () => this.wake(jobId, trigger));
    else this.enqueue(jobId, trigger);
  }

  private wake(jobId: string, trigger: string): void {
    this.ask(jobId, trigger);
    this.pump();
  }

  private shapeOf(job: ClusterJob): string {
    return shapeOf(job, this.parts.view.cluster, this.parts.clock.now());
  }
}

const answerOf = (wakesOn: readonly string[], digest: string, wakesAt: Instant | undefined): Answer => ({
  wakesOn,
  reasons: new Set(digest.split(' ')),
  wakesAt: wakesAt === undefined ? undefined : toMillis(wakesAt),
});

const turnOf = ({ id, project, priority, submittedAt }: ClusterJob): Turn => ({
  jobId: id,
  project,
  priority,
  submittedAt,
});
