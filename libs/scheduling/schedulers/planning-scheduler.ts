import { toInstant } from '#kernel';
import type { Clock, Ids, Millis } from '#kernel';
import { executionIdOf } from '#jobs';
import type { ClusterJob, ClusterState } from '#placement';
import type { Evaluation } from '../broker/evaluation.js';
import type { Plan } from '../planner/plan.js';
import type { Planner } from '../planner/planner.js';
import type { SchedulingLog, SchedulingObserver } from '../ports.js';
import type { ClusterView } from '../view/cluster-view.js';
import type { EvaluationOutcome, JobScheduler } from '../worker/job-scheduler.js';
import type { PassGate } from './pass-gate.js';
import type { Pass } from './place.js';

/** What there should be of a job and is not, as a plan; one for each type of job. Pure but for the ids that it draws. */
export type Reconcile = (job: ClusterJob, cluster: ClusterState, pass: Pass) => Plan;

export interface PlanningParts {
  readonly view: ClusterView;
  readonly planner: Planner;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: SchedulingLog;
  readonly observer: SchedulingObserver;
}

/**
 * Makes a plan of what is missing and has it carried out. From the look at the cluster to the planner's first step nothing
 * waits, so no other pass sees the cluster in between.
 */
export class PlanningScheduler implements JobScheduler {
  constructor(
    private readonly parts: PlanningParts,
    private readonly reconcile: Reconcile,
    private readonly gate: PassGate,
  ) {}

  process(evaluation: Evaluation): Promise<EvaluationOutcome> {
    return this.gate.through(() => this.pass(evaluation));
  }

  private async pass({ id: evaluationId, jobId, trigger }: Evaluation): Promise<EvaluationOutcome> {
    const { clock, ids, log, observer, planner, view } = this.parts;
    const job = view.cluster.jobs.get(jobId);
    if (!job) return { kind: 'idle' };
    const begun = clock.now();
    const elapsed = observer.stopwatch?.() ?? (() => clock.now() - begun);
    const nextExecution = (): string => executionIdOf(jobId, ids.next().slice(-12));
    const plan = this.reconcile(job, view.cluster, { evaluationId, trigger, now: toInstant(begun), nextExecution });
    this.count(plan.outcomes, elapsed());
    const planned = await planner.process(plan);
    if (planned.kind === 'done') return plan.followUp;
    log.debug({ jobId, evaluationId, planner: planned.by, reason: planned.reason }, 'plan refused, it is made again');
    return { kind: 'again', because: 'conflict' };
  }

  /** Each decision of a pass took its part of the time. */
  private count(outcomes: Plan['outcomes'], millis: Millis): void {
    for (const outcome of outcomes) this.parts.observer.decided?.(outcome, millis / outcomes.length);
  }
}
