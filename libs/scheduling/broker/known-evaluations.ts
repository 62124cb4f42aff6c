import type { Clock, Millis, Random, Timers } from '#kernel';
import { Alarms } from '../alarms.js';
import type { Aging } from './aging.js';
import { DEAD_LETTERS } from './delivery.js';
import type { Evaluation } from './evaluation.js';
import { JobEvaluations, JobTable, newEntry } from './job-evaluations.js';
import type { Entry, JobName } from './job-evaluations.js';
import { ReadyEvaluations } from './ready-evaluations.js';

/** An evaluation that another one of its job made needless. */
export interface Superseded {
  readonly evaluation: Evaluation;
  /** The ID of that other one. */
  readonly by: string;
}

export interface KnownParts {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly aging: Aging;
  readonly shareOf: (project: string) => number;
  /** Time has made one ready. */
  readonly becameReady: () => void;
  /** There is something to take with `takeSuperseded`. */
  readonly superseded: () => void;
}

/**
 * What the broker knows of, each evaluation in one place: who holds its job, who stands behind, who waits for what moment,
 * who is needless. Deliveries and their leases are the broker's.
 */
export class KnownEvaluations {
  readonly ready: ReadyEvaluations;
  private readonly entries = new Map<string, Entry>();
  private readonly jobs = new JobTable();
  /** Of those that wait for their time or for their next try. */
  private readonly alarms: Alarms;
  private pending = 0;
  private superseded: Superseded[] = [];

  constructor(private readonly parts: KnownParts) {
    this.ready = new ReadyEvaluations(parts);
    this.alarms = new Alarms(parts.clock, parts.timers);
  }

  get counts(): { readonly pending: number; readonly waiting: number; readonly cancelable: number } {
    return { pending: this.pending, waiting: this.alarms.size, cancelable: this.superseded.length };
  }

  get(id: string): Entry | undefined {
    return this.entries.get(id);
  }

  all(): Iterable<Entry> {
    return this.entries.values();
  }

  ofJob(job: JobName): Iterable<Entry> {
    return this.jobs.get(job)?.all() ?? [];
  }

  /** In whatever project. */
  *ofJobId(jobId: string): Generator<Entry> {
    for (const job of [...this.jobs.ofId(jobId)]) yield* job.all();
  }

  clear(): void {
    this.entries.clear();
    this.jobs.clear();
    this.ready.clear();
    this.alarms.stopAll();
    this.pending = 0;
    this.superseded = [];
  }

  /** One that is not known yet. */
  admit(evaluation: Evaluation): void {
    const { jobId, project } = evaluation;
    const entry = newEntry(evaluation, this.jobs.get(evaluation) ?? new JobEvaluations({ jobId, project }));
    this.entries.set(evaluation.id, entry);
    this.place(entry);
  }

  /** Takes the next of these types out of the ready ones; it goes on holding its job. */
  take(types: readonly string[]): Entry | undefined {
    const next = this.ready.take(types);
    return next && this.entries.get(next.id);
  }

  /** The holder of its job is done: the next of those that stood behind it makes the others needless. */
  complete(entry: Entry): void {
    const { job, again } = entry;
    this.leave(entry);
    const next = job.nextPending();
    if (next) {
      this.unpend(next);
      for (const other of job.pending) this.supersede(other, next);
      this.place(next);
    }
    if (again && !this.entries.has(again.id)) this.admit(again);
  }

  /** Tries again after a time, unless something that may not wait that long stands behind. */
  delay(entry: Entry, span: Millis): void {
    entry.state = 'delayed';
    this.ringAt(entry, this.parts.clock.now() + span, () => this.makeReady(entry));
    const urgent = entry.job.nextPending(({ evaluation }) => evaluation.preempts);
    if (!urgent) return;
    this.unpend(urgent);
    this.takeOver(urgent);
  }

  /** Goes on holding its job until somebody has read it. */
  bury(entry: Entry): void {
    entry.queue = DEAD_LETTERS;
    this.makeReady(entry);
  }

  retryAtOnce(): void {
    for (const { holder } of this.jobs.all()) {
      if (holder?.state !== 'delayed') continue;
      this.alarms.stop(holder.evaluation.id);
      this.makeReady(holder);
    }
  }

  setPriority(job: JobName, priority: number): void {
    for (const entry of this.ofJob(job)) {
      const isReady = entry.state === 'ready';
      if (isReady) this.ready.delete(entry.queue, entry.evaluation);
      entry.evaluation = { ...entry.evaluation, priority };
      if (isReady) this.ready.add(entry.queue, entry.evaluation);
    }
  }

  /** Forgets one that is not in flight. */
  drop(entry: Entry): void {
    const { evaluation, state, job } = entry;
    if (state === 'ready') this.ready.delete(entry.queue, evaluation);
    if (state === 'pending') this.unpend(entry);
    job.waiting.delete(entry);
    this.alarms.stop(evaluation.id);
    this.leave(entry);
  }

  takeSuperseded(most: number): readonly Superseded[] {
    return this.superseded.splice(0, most);
  }

  /** Waits for its time, or takes its job, or stands behind the one that has it. */
  private place(entry: Entry): void {
    const { evaluation, job } = entry;
    this.jobs.add(job);
    if (evaluation.waitUntil !== undefined && evaluation.waitUntil > this.parts.clock.now()) {
      entry.state = 'waiting';
      job.waiting.add(entry);
      this.ringAt(entry, evaluation.waitUntil, () => {
        job.waiting.delete(entry);
        this.place(entry);
      });
    } else if (!job.holder || (job.holder.state === 'delayed' && evaluation.preempts)) {
      this.takeOver(entry);
    } else {
      entry.state = 'pending';
      job.pending.add(entry);
      this.pending += 1;
    }
  }

  /** A retry that is delayed gives way: whatever it would look at is looked at now. */
  private takeOver(entry: Entry): void {
    const { job } = entry;
    if (job.holder) this.supersede(job.holder, entry);
    this.jobs.add(job);
    job.holder = entry;
    this.makeReady(entry);
  }

  private makeReady(entry: Entry): void {
    entry.state = 'ready';
    this.ready.add(entry.queue, entry.evaluation);
  }

  private unpend(entry: Entry): void {
    entry.job.pending.delete(entry);
    this.pending -= 1;
  }

  private supersede(entry: Entry, by: Entry): void {
    this.drop(entry);
    this.superseded.push({ evaluation: entry.evaluation, by: by.evaluation.id });
    this.parts.superseded();
  }

  private leave(entry: Entry): void {
    const { evaluation, job } = entry;
    this.entries.delete(evaluation.id);
    if (job.holder === entry) job.holder = undefined;
    if (job.isEmpty) this.jobs.delete(job);
  }

  /** Timers may be early by a moment, and by much over many days. */
  private ringAt(entry: Entry, moment: Millis, run: () => void): void {
    const { clock } = this.parts;
    this.alarms.after(entry.evaluation.id, moment - clock.now(), () => {
      if (clock.now() < moment) return this.ringAt(entry, moment, run);
      run();
      this.parts.becameReady();
    });
  }
}
