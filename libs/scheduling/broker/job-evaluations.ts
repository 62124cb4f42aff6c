import type { Millis, Timer } from '#kernel';
import type { Evaluation } from './evaluation.js';

export interface Lease {
  readonly receipt: string;
  readonly until: Millis;
  readonly timer: Timer;
}

/** One evaluation that the broker knows. */
export interface Entry {
  evaluation: Evaluation;
  readonly job: JobEvaluations;
  /**
   * *Waiting* for its time. *Pending* behind the one that holds its job. *Ready* for delivery, *in flight*, or *delayed* after
   * a nack: these three hold the job.
   */
  state: 'waiting' | 'pending' | 'ready' | 'in-flight' | 'delayed';
  /** Where it is delivered: its type, or the dead letters. */
  queue: string;
  deliveries: number;
  /** While in flight. */
  lease: Lease | undefined;
  /** The receipt of the last delivery whose lease ran out. */
  lapsed: string | undefined;
  /** Asked for under the present receipt: to be enqueued after the ack. */
  again: Evaluation | undefined;
}

export const newEntry = (evaluation: Evaluation, job: JobEvaluations): Entry => ({
  evaluation,
  job,
  state: 'waiting',
  queue: evaluation.type,
  deliveries: 0,
  lease: undefined,
  lapsed: undefined,
  again: undefined,
});

/** A job as the broker tells jobs apart. */
export type JobName = Pick<Evaluation, 'project' | 'jobId'>;

/** The evaluations of one job: one at most holds it, the others stand behind that one or wait for their time. */
export class JobEvaluations {
  holder: Entry | undefined;
  readonly pending = new Set<Entry>();
  readonly waiting = new Set<Entry>();

  constructor(readonly name: JobName) {}

  get isEmpty(): boolean {
    return !this.holder && this.pending.size === 0 && this.waiting.size === 0;
  }

  *all(): Generator<Entry> {
    if (this.holder) yield this.holder;
    yield* this.pending;
    yield* this.waiting;
  }

  /** The pending one that comes next: the most urgent, then the one that was modified last, then the newer id. */
  nextPending(suits: (entry: Entry) => boolean = () => true): Entry | undefined {
    let next: Entry | undefined;
    for (const entry of this.pending) if (suits(entry) && (!next || isAhead(entry, next))) next = entry;
    return next;
  }
}

const isAhead = ({ evaluation: left }: Entry, { evaluation: right }: Entry): boolean => {
  if (left.priority !== right.priority) return left.priority > right.priority;
  if (left.modifiedAt !== right.modifiedAt) return left.modifiedAt > right.modifiedAt;
  return left.id > right.id;
};

/** Jobs by their name; an ID is of one project, but for chance. */
export class JobTable {
  private readonly byId = new Map<string, JobEvaluations[]>();

  get({ jobId, project }: JobName): JobEvaluations | undefined {
    return this.ofId(jobId).find(({ name }) => name.project === project);
  }

  ofId(jobId: string): readonly JobEvaluations[] {
    return this.byId.get(jobId) ?? NONE;
  }

  *all(): Generator<JobEvaluations> {
    for (const jobs of this.byId.values()) yield* jobs;
  }

  add(job: JobEvaluations): void {
    const { jobId } = job.name;
    const known = this.byId.get(jobId);
    if (!known) this.byId.set(jobId, [job]);
    else if (!known.includes(job)) known.push(job);
  }

  delete(job: JobEvaluations): void {
    const { jobId } = job.name;
    const rest = this.ofId(jobId).filter((other) => other !== job);
    if (rest.length > 0) this.byId.set(jobId, rest);
    else this.byId.delete(jobId);
  }

  clear(): void {
    this.byId.clear();
  }
}

const NONE: readonly JobEvaluations[] = [];
