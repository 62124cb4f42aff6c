import type { Clock, Ids, Millis } from '#kernel';
import type { ClusterJob } from '#placement';
import { evaluationOf } from '../broker/evaluation.js';
import type { Evaluation, EvaluationRequest } from '../broker/evaluation.js';
import type { EvaluationBroker } from '../broker/evaluation-broker.js';
import type { ClusterView } from '../view/cluster-view.js';

/** The safety sweep asks for a look: an event should have. */
export const SWEEP = 'sweep';
/** The control plane has started. */
export const START = 'start';

/** With each of these a job enters the queue. */
const FIRST_TRIGGERS: ReadonlySet<string> = new Set(['JobSubmitted', 'DependenciesMet', START]);

export interface LookParts {
  readonly view: Pick<ClusterView, 'cluster'>;
  readonly broker: EvaluationBroker;
  readonly clock: Clock;
  readonly ids: Ids;
}

/**
 * Turns what asks for a look at a job into evaluations. They are held until `flush`, so that of all that one event asks for
 * the most urgent is delivered first.
 */
export class LookRequests {
  private readonly asked = new Map<string, Evaluation>();
  private readonly again: { readonly evaluation: Evaluation; readonly receipt: string }[] = [];

  constructor(private readonly parts: LookParts) {}

  /**
   * A look at the job, at a moment or at once: unless one is still to come by then, which will see all that this one would. What
   * waits for other jobs is not looked at.
   */
  ask(jobId: string, trigger: string, moment?: Millis): void {
    const job = this.parts.view.cluster.jobs.get(jobId);
    if (!job || job.blocked) return;
    const now = this.parts.clock.now();
    const waitUntil = moment !== undefined && moment > now ? moment : undefined;
    const id = this.idFor(job, trigger);
    const evaluation = evaluationOf(job, { id, trigger, at: now, ...(waitUntil === undefined ? {} : { waitUntil }) });
    if (!this.comesAnyway(evaluation, now)) this.asked.set(jobId, evaluation);
  }

  /**
   * Another look instead of this one, which is in flight and came to nothing: in the same turn, or at a moment. It is as old as this
   * one, so that a further turn of a huge job goes on behind whoever came before it.
   */
  askAgain(evaluation: Evaluation, moment?: Millis): void {
    const goesOnFrom = evaluation.createdAt;
    this.repeat(evaluation, moment === undefined ? { goesOnFrom } : { goesOnFrom, waitUntil: moment });
  }

  /** A further look after this one, which is in flight and was cut short by its size: behind whoever waits by now. */
  askForMore(evaluation: Evaluation): void {
    this.repeat(evaluation, { goesOnFrom: this.parts.clock.now() });
  }

  flush(): void {
    if (this.asked.size === 0 && this.again.length === 0) return;
    const group = [...this.again.splice(0), ...[...this.asked.values()].map((evaluation) => ({ evaluation }))];
    this.asked.clear();
    this.parts.broker.enqueueAll(group);
  }

  private repeat({ id, jobId, trigger }: Evaluation, when: Pick<EvaluationRequest, 'waitUntil' | 'goesOnFrom'>): void {
    const { view, broker, clock } = this.parts;
    const job = view.cluster.jobs.get(jobId);
    const receipt = broker.receiptOf(id);
    if (!job || receipt === undefined) return;
    const at = clock.now();
    const evaluation = evaluationOf(job, { id, trigger, at, ...when });
    if (!this.comesAnyway(evaluation, at)) this.again.push({ evaluation, receipt });
  }

  private comesAnyway(evaluation: Evaluation, now: Millis): boolean {
    const by = evaluation.waitUntil ?? now;
    const standsIn = (other: Evaluation, isReady: boolean): boolean => {
      if ((other.waitUntil ?? now) > by) return false;
      // What the sweep asks for tells whether an event was missed; what may be delayed is no answer to a user.
      if (other.trigger === SWEEP && evaluation.trigger !== SWEEP) return false;
      return !evaluation.preempts || isReady || other.preempts;
    };
    const asked = this.asked.get(evaluation.jobId);
    if (asked && standsIn(asked, true)) return true;
    return this.parts.broker.undelivered(evaluation).some((other) => standsIn(other.evaluation, other.isReady));
  }

  /** The one that the submission was answered with is the first. */
  private idFor(job: ClusterJob, trigger: string): string {
    const isFirst = job.decisions === 0 && FIRST_TRIGGERS.has(trigger);
    return isFirst && !this.parts.broker.knows(job.evaluationId) ? job.evaluationId : this.parts.ids.next();
  }
}
