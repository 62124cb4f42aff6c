import { toMillis } from '#kernel';
import type { Clock, Millis } from '#kernel';
import type { Evaluation } from '../broker/evaluation.js';
import type { EvaluationBroker } from '../broker/evaluation-broker.js';
import type { SchedulingLog, SchedulingObserver } from '../ports.js';
import type { ClusterView } from '../view/cluster-view.js';
import type { EvaluationOutcome, JobScheduler, SchedulerProvider } from '../worker/job-scheduler.js';
import { SWEEP } from './look-requests.js';
import type { LookRequests } from './look-requests.js';
import { News } from './news.js';
import type { Change } from './news.js';
import type { WaitingClasses } from './waiting-classes.js';

export interface PassParts {
  readonly view: ClusterView;
  readonly broker: EvaluationBroker;
  readonly schedulers: SchedulerProvider;
  readonly looks: LookRequests;
  readonly waiting: WaitingClasses;
  readonly clock: Clock;
  readonly log: SchedulingLog;
  readonly observer: SchedulingObserver;
}

/** Passes in a row that a conflict may cut short before the job steps back for a moment. */
const MOST_CONFLICTS = 10;
const STEP_BACK: Millis = 1_000;

interface Fault {
  readonly evaluationId: string;
  readonly reason: string;
}

/**
 * The schedulers as the workers have them: what a pass comes to is settled before its evaluation is acked, so that a job is
 * at no time forgotten. What waits goes to the classes, what is to be looked at again to the broker.
 */
export class Passes implements SchedulerProvider {
  private readonly news = new News();
  /** How much was known when each pass that is under way began, the oldest first. */
  private readonly open = new Set<{ readonly known: number }>();
  private readonly conflicts = new Map<string, number>();
  /** The last fault of each job whose last pass failed. */
  private readonly faults = new Map<string, Fault>();
  /** Jobs whose last evaluation is a dead letter. */
  private readonly given = new Set<string>();
  private running = true;

  constructor(private readonly parts: PassParts) {}

  get types(): readonly string[] {
    return this.parts.schedulers.types;
  }

  schedulerFor(type: string): JobScheduler {
    const scheduler = this.parts.schedulers.schedulerFor(type);
    return { process: (evaluation) => this.pass(scheduler, evaluation) };
  }

  /** What changes while passes are under way is held against their answers. */
  learn(change: Change): void {
    if (this.open.size > 0) this.news.add(change);
  }

  /** Nothing of a pass under way matters any more. */
  forget(jobId: string): void {
    this.conflicts.delete(jobId);
    this.faults.delete(jobId);
    this.given.delete(jobId);
  }

  /** Why the evaluation failed the last time. */
  faultOf({ id, jobId }: Evaluation): string {
    const fault = this.faults.get(jobId);
    return fault?.evaluationId === id ? fault.reason : 'no pass came to an end within its lease';
  }

  /** The evaluation is a dead letter, and recorded as one: its job waits for whatever may come. */
  giveUp({ jobId }: Evaluation): void {
    this.faults.delete(jobId);
    const job = this.parts.view.cluster.jobs.get(jobId);
    if (!job) return;
    this.given.add(jobId);
    this.parts.waiting.waitForAnything(job);
  }

  /** Jobs that nobody looks at until something comes. */
  get givenUp(): Iterable<string> {
    return this.given;
  }

  /** Outcomes are no longer of interest. */
  stop(): void {
    this.running = false;
  }

  private async pass(scheduler: JobScheduler, evaluation: Evaluation): Promise<EvaluationOutcome> {
    const begun = { known: this.news.count };
    this.open.add(begun);
    try {
      const outcome = await scheduler.process(evaluation);
      if (this.running) this.settle(evaluation, outcome, this.news.since(begun.known));
      return outcome;
    } catch (error) {
      if (this.running) this.failed(evaluation, error);
      throw error;
    } finally {
      this.open.delete(begun);
      const [oldest] = this.open;
      this.news.drop(oldest?.known ?? this.news.count);
      this.parts.looks.flush();
    }
  }

  /** A fault (store away, say) delays this job alone: the next of its class is looked at. */
  private failed({ id, jobId }: Evaluation, error: unknown): void {
    if (!this.parts.view.cluster.jobs.has(jobId)) return;
    this.faults.set(jobId, { evaluationId: id, reason: error instanceof Error ? error.message : String(error) });
    this.parts.waiting.leave(jobId);
  }

  private settle(evaluation: Evaluation, outcome: EvaluationOutcome, changes: readonly Change[]): void {
    const { jobId } = evaluation;
    const { waiting, looks } = this.parts;
    if (outcome.kind === 'placed') this.checkSweep(evaluation);
    this.faults.delete(jobId);
    this.given.delete(jobId);
    if (outcome.kind !== 'again' || outcome.because === 'more') this.conflicts.delete(jobId);
    switch (outcome.kind) {
      case 'placed':
        waiting.placed(jobId);
        return;
      case 'waiting': {
        const job = this.parts.view.cluster.jobs.get(jobId);
        if (job) waiting.wait(job, outcome, changes);
        if (outcome.until !== undefined) looks.ask(jobId, 'BackoffEnded', toMillis(outcome.until));
        return;
      }
      case 'again':
        this.again(evaluation, outcome.because);
        return;
      case 'idle':
        waiting.leave(jobId);
        if (outcome.until !== undefined) looks.ask(jobId, 'BackoffEnded', toMillis(outcome.until));
    }
  }

  /** After a conflict the view has caught up with the winner, so the next look sees it. */
  private again(evaluation: Evaluation, because: 'more' | 'conflict'): void {
    const { looks, clock, view } = this.parts;
    if (!view.cluster.jobs.has(evaluation.jobId)) return;
    if (because === 'more') return looks.askForMore(evaluation);
    const count = (this.conflicts.get(evaluation.jobId) ?? 0) + 1;
    this.conflicts.set(evaluation.jobId, count);
    looks.askAgain(evaluation, count % MOST_CONFLICTS === 0 ? clock.now() + STEP_BACK : undefined);
  }

  /**
   * The sweep is there for what an event should have woken: a job that it places shows that one was missed. Not one whose
   * look failed before, for what helped may have come meanwhile.
   */
  private checkSweep(evaluation: Evaluation): void {
    const { jobId, trigger } = evaluation;
    const { broker, observer, log } = this.parts;
    if (trigger !== SWEEP || this.faults.has(jobId) || this.given.has(jobId)) return;
    if (broker.undelivered(evaluation).length > 0) return;
    observer.overlooked?.();
    log.error({ jobId }, 'the sweep placed a job that an event should have woken');
  }
}
