import { toMillis } from '#kernel';
import type { Clock, Instant, Timers } from '#kernel';
import type { JobSpec } from '#jobs';
import { nextRequest, requestOf, WAKING_EVENTS } from '#placement';
import type { ClusterJob } from '#placement';
import { Alarms } from '../alarms.js';
import type { Aging, Place } from '../broker/aging.js';
import type { ClusterView } from '../view/cluster-view.js';
import type { Waiting } from '../worker/job-scheduler.js';
import type { LookRequests } from './look-requests.js';
import { mayHelp } from './news.js';
import type { Change } from './news.js';
import { shapeOf } from './shape.js';
import { WaitingJobs } from './waiting-jobs.js';
import type { Answer } from './waiting-jobs.js';

export interface WaitingParts {
  readonly view: ClusterView;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly aging: Aging;
  readonly looks: LookRequests;
}

/** Jobs that were looked at and not placeable, and what has the first of a class looked at again. */
export class WaitingClasses {
  private readonly jobs: WaitingJobs;
  /** When time alone may help a class, by shape. */
  private readonly moments: Alarms;

  constructor(private readonly parts: WaitingParts) {
    this.jobs = new WaitingJobs(parts.clock, parts.aging);
    this.moments = new Alarms(parts.clock, parts.timers);
  }

  get size(): number {
    return this.jobs.size;
  }

  has(jobId: string): boolean {
    return this.jobs.has(jobId);
  }

  /** All that waits. */
  all(): readonly string[] {
    return this.jobs.all();
  }

  /** The first of each class, for a look at all that waits. */
  heads(): readonly string[] {
    return this.jobs.heads().map(({ jobId }) => jobId);
  }

  /** Asks for a look at the first of each class that the change may help. */
  wake(change: Change): void {
    for (const { jobId, answer } of this.jobs.wokenBy(change.type)) {
      if (this.helps(change, jobId, answer)) this.parts.looks.ask(jobId, change.type);
    }
  }

  /** Waits with the answer that the job had before this process knew it; false when it needs a new one. */
  resume(job: ClusterJob): boolean {
    const { lastDecision: last, partitions } = job;
    const asks = (spec: JobSpec): boolean => spec === nextRequest(job, this.parts.clock.now()).spec;
    if (last === undefined || last.outcome === 'placed' || partitions[last.partition]?.state !== 'waiting')
      return false;
    if (!asks(requestOf(job, last.partition).spec)) return false;
    this.jobs.add(placeOf(job), this.shapeOf(job), answerOf(last.wakesOn, last.digest, last.wakesAt));
    return true;
  }

  /** After a look that placed nothing. Of what changed during the look, the first that may help has it looked at again. */
  wait(job: ClusterJob, { wakesOn, reasons, wakesAt }: Waiting, changes: readonly Change[]): void {
    const shape = this.shapeOf(job);
    if (this.jobs.shapeOf(job.id) !== shape) this.leave(job.id);
    const answer = answerOf(wakesOn, reasons, wakesAt);
    this.jobs.add(placeOf(job), shape, answer);
    if (wakesAt === undefined) this.moments.stop(shape);
    else this.moments.at(shape, wakesAt, () => this.momentCame(shape));
    const missed = changes.find((change) => wakesOn.includes(change.type) && this.helps(change, job.id, answer));
    if (missed) this.parts.looks.ask(job.id, missed.type);
  }

  /** Nothing is known of what the job waits for, but by others of its shape: anything may help. */
  waitForAnything(job: ClusterJob): void {
    const shape = this.shapeOf(job);
    this.jobs.add(placeOf(job), shape, this.jobs.answerOf(shape) ?? ANYTHING);
  }

  /** Whoever leaves its class at a look may have been woken for all of it: the next one is looked at. */
  leave(jobId: string, shape = this.jobs.shapeOf(jobId)): void {
    this.jobs.remove(jobId);
    const next = shape === undefined ? undefined : this.jobs.head(shape);
    if (next !== undefined) this.parts.looks.ask(next, 'TurnCame');
  }

  /** A job that was placed has made way for all of its shape, though it may not have waited among them. */
  placed(jobId: string): void {
    const job = this.parts.view.cluster.jobs.get(jobId);
    this.leave(jobId, this.jobs.shapeOf(jobId) ?? (job && this.shapeOf(job)));
  }

  /** It was not looked at, so none comes in its place. */
  remove(jobId: string): void {
    this.jobs.remove(jobId);
  }

  stop(): void {
    this.moments.stopAll();
  }

  private momentCame(shape: string): void {
    const head = this.jobs.head(shape);
    if (head !== undefined) this.parts.looks.ask(head, 'MomentCame');
    this.parts.looks.flush();
  }

  private helps(change: Change, jobId: string, answer: Answer): boolean {
    const { cluster } = this.parts.view;
    const job = cluster.jobs.get(jobId);
    return job !== undefined && mayHelp(change, job, answer, cluster, this.parts.clock.now());
  }

  private shapeOf(job: ClusterJob): string {
    return shapeOf(job, this.parts.view.cluster, this.parts.clock.now());
  }
}

const ANYTHING: Answer = { wakesOn: [...WAKING_EVENTS], reasons: new Set(), wakesAt: undefined };

const answerOf = (wakesOn: readonly string[], digest: string, wakesAt: Instant | undefined): Answer => ({
  wakesOn,
  reasons: new Set(digest.split(' ')),
  wakesAt: wakesAt === undefined ? undefined : toMillis(wakesAt),
});

const placeOf = ({ id, priority, submittedAt }: ClusterJob): Place => ({
  id,
  priority,
  createdAt: toMillis(submittedAt),
});
