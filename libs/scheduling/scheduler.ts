import { Heap, toMillis } from '#kernel';
import type { Clock, Timer, Timers } from '#kernel';
import { JOB_STREAM_PREFIX } from '#jobs';
import type { RecordedEvent } from '#event-store';
import type { EvaluationOutcome } from './evaluation/evaluator.js';
import type { SchedulingLog, SchedulingObserver, SchedulingOptions } from './ports.js';
import { shapeOf } from './queue/shape.js';
import { isBefore } from './queue/turn.js';
import type { Turn } from './queue/turn.js';
import { WaitingJobs } from './queue/waiting-jobs.js';
import type { ClusterView } from './view/cluster-view.js';

interface Ready extends Turn {
  readonly trigger: string;
}

export interface SchedulerParts {
  readonly view: ClusterView;
  readonly evaluator: { evaluate(jobId: string, trigger: string): Promise<EvaluationOutcome> };
  readonly clock: Clock;
  readonly timers: Timers;
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
/** Passes in a row that a conflict may cut short before the job steps back for a moment. */
const MOST_CONFLICTS = 10;

/**
 * Which job is looked at when.
 *
 * Each job is in one place at a time. *Ready*: to be looked at, in turn. *In flight*: being evaluated, never twice at
 * once; what asks for it meanwhile is kept and makes it ready again right after. *Waiting*: looked at and not placeable,
 * until an event of a kind that its reasons name, its moment (`wakesAt`), or the sweep. *Delayed*: until the end of a
 * backoff. A job leaves when it ended, is paused, or has all its reservations.
 *
 * The loop starts with `start` (everything that waits becomes ready), is driven by events and ends of evaluations alone,
 * and ends with `stop`, which lets evaluations under way finish.
 */
export class Scheduler {
  private readonly ready = new Heap<Ready>(isBefore);
  /** The turn of each job that is ready; a turn in the heap that is not this one is passed over. */
  private readonly queued = new Map<string, Ready>();
  private readonly inFlight = new Map<string, Promise<void>>();
  private readonly askedAgain = new Map<string, string>();
  private readonly waiting = new WaitingJobs();
  private readonly delayed = new Map<string, Timer>();
  private readonly faults = new Map<string, number>();
  private readonly conflicts = new Map<string, number>();
  /** Counts events; `lastWake` says when each kind came last, so that one that comes during an evaluation is not missed. */
  private tick = 0;
  private readonly lastWake = new Map<string, number>();
  private stopListening: (() => void) | undefined;
  private sweeper: Timer | undefined;
  private running = false;
  private idleWaiters: (() => void)[] = [];

  constructor(private readonly parts: SchedulerParts) {}

  start(): void {
    this.running = true;
    this.stopListening = this.parts.view.listen((event) => this.hear(event));
    this.sweeper = this.parts.timers.every(this.parts.options.sweepInterval, () => this.sweep());
    for (const jobId of this.parts.view.cluster.jobs.keys()) this.ask(jobId, 'start');
    this.pump();
  }

  async stop(): Promise<void> {
    this.running = false;
    this.stopListening?.();
    this.sweeper?.cancel();
    for (const timer of this.delayed.values()) timer.cancel();
    await Promise.all(this.inFlight.values());
  }

  /** How many jobs are ready, in flight, waiting and delayed. */
  get counts(): { ready: number; inFlight: number; waiting: number; delayed: number } {
    const { queued, inFlight, waiting, delayed } = this;
    return { ready: queued.size, inFlight: inFlight.size, waiting: waiting.size, delayed: delayed.size };
  }

  /** Resolves when nothing is ready or in flight. */
  whenIdle(): Promise<void> {
    if (this.queued.size === 0 && this.inFlight.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.idleWaiters.push(resolve));
  }

  private hear(event: RecordedEvent): void {
    this.tick += 1;
    this.lastWake.set(event.type, this.tick);
    if (event.stream.startsWith(JOB_STREAM_PREFIX)) this.hearJob(event);
    for (const turn of this.waiting.wokenBy(event.type)) this.ask(turn.jobId, event.type);
    this.pump();
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
    if (!job || this.queued.get(jobId)?.priority === job.priority) return;
    this.delayed.get(jobId)?.cancel();
    this.delayed.delete(jobId);
    const turn = { jobId, priority: job.priority, submittedAt: job.submittedAt, trigger };
    this.queued.set(jobId, turn);
    this.ready.push(turn);
  }

  private forget(jobId: string): void {
    this.leave(jobId);
    this.delayed.get(jobId)?.cancel();
    this.delayed.delete(jobId);
    this.faults.delete(jobId);
    this.conflicts.delete(jobId);
  }

  /** Whoever leaves its class may have been the one that was woken for all of it: the next one is looked at. */
  private leave(jobId: string, shape = this.waiting.shapeOf(jobId)): void {
    this.waiting.remove(jobId);
    const next = shape === undefined ? undefined : this.waiting.head(shape);
    if (next) this.ask(next.jobId, 'TurnCame');
  }

  private sweep(): void {
    for (const jobId of this.waiting.all()) this.ask(jobId, 'sweep');
    this.pump();
  }

  private pump(): void {
    while (this.running && this.inFlight.size < this.parts.options.concurrency) {
      const next = this.ready.pop();
      if (!next) break;
      if (this.queued.get(next.jobId) !== next) continue;
      this.queued.delete(next.jobId);
      this.inFlight.set(next.jobId, this.look(next));
    }
    if (this.queued.size === 0 && this.inFlight.size === 0) for (const resolve of this.idleWaiters.splice(0)) resolve();
  }

  private async look(turn: Ready): Promise<void> {
    const seen = this.tick;
    await Promise.resolve();
    const outcome = await this.evaluate(turn);
    this.inFlight.delete(turn.jobId);
    if (!this.running) return;
    if (outcome) this.settle(turn, outcome, seen);
    const again = this.askedAgain.get(turn.jobId);
    this.askedAgain.delete(turn.jobId);
    if (again !== undefined) this.enqueue(turn.jobId, again);
    this.pump();
  }

  /** A fault (store away, say) delays this job alone: nothing is lost, since what waits is in the log, and none waits for it. */
  private async evaluate({ jobId, trigger }: Ready): Promise<EvaluationOutcome | undefined> {
    try {
      const outcome = await this.parts.evaluator.evaluate(jobId, trigger);
      this.faults.delete(jobId);
      return outcome;
    } catch (error) {
      const count = (this.faults.get(jobId) ?? 0) + 1;
      this.faults.set(jobId, count);
      this.parts.observer.fault?.();
      this.parts.log.warn({ jobId, err: error }, 'evaluation failed, it is tried again');
      this.leave(jobId);
      this.delay(jobId, Math.min(FAULT_DELAY.most, FAULT_DELAY.first * 2 ** (count - 1)), trigger);
      return undefined;
    }
  }

  private settle(turn: Ready, outcome: EvaluationOutcome, seen: number): void {
    const { jobId } = turn;
    const shape = this.shape(jobId);
    if (outcome.kind !== 'again') this.conflicts.delete(jobId);
    switch (outcome.kind) {
      case 'placed':
        this.leave(jobId, this.waiting.shapeOf(jobId) ?? shape);
        return;
      case 'waiting':
        this.wait(turn, outcome, seen, shape);
        return;
      case 'again':
        this.again(turn);
        return;
      case 'idle':
        this.leave(jobId);
        if (outcome.until !== undefined) this.delayUntil(jobId, outcome.until, 'BackoffEnded');
    }
  }

  private wait(
    turn: Ready,
    outcome: Extract<EvaluationOutcome, { kind: 'waiting' }>,
    seen: number,
    shape: string | undefined,
  ): void {
    if (shape === undefined) return;
    if (this.waiting.shapeOf(turn.jobId) !== shape) this.leave(turn.jobId);
    this.waiting.add(turn, shape, outcome.wakesOn);
    const missed = outcome.wakesOn.find((type) => (this.lastWake.get(type) ?? -1) > seen);
    if (missed !== undefined) this.enqueue(turn.jobId, missed);
    else if (outcome.wakesAt !== undefined) this.delayUntil(turn.jobId, outcome.wakesAt, 'MomentCame');
  }

  /** After a conflict the view has caught up with the winner, so the next look sees it. */
  private again({ jobId, trigger }: Ready): void {
    const count = (this.conflicts.get(jobId) ?? 0) + 1;
    this.conflicts.set(jobId, count);
    if (count % MOST_CONFLICTS === 0) this.delay(jobId, FAULT_DELAY.first, trigger);
    else this.enqueue(jobId, trigger);
  }

  private delayUntil(jobId: string, until: string, trigger: string): void {
    this.delay(jobId, Math.max(0, toMillis(until) - this.parts.clock.now()), trigger);
  }

  private delay(jobId: string, span: number, trigger: string): void {
    this.delayed.get(jobId)?.cancel();
    const timer = this.parts.timers.after(Math.min(span, 2 ** 31 - 1), () => {
      this.delayed.delete(jobId);
      this.ask(jobId, trigger);
      this.pump();
    });
    this.delayed.set(jobId, timer);
  }

  private shape(jobId: string): string | undefined {
    const job = this.parts.view.cluster.jobs.get(jobId);
    return job && shapeOf(job, this.parts.view.cluster);
  }
}
