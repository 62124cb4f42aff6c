import { plusSeconds, toInstant } from '#kernel';
import type { Clock, Ids, Instant } from '#kernel';
import type { Handled } from '#event-store';
import { executionIdOf, jobStream } from '#jobs';
import type { Decision, JobCommand, JobState } from '#jobs';
import { nodeStream } from '#nodes';
import type { Contract, NodeCommand, NodeState } from '#nodes';
import { decide, reasonsDigest, requestOf, waitingPartitions } from '#placement';
import type { ClusterJob } from '#placement';
import type { Evaluation } from '../broker/evaluation.js';
import type { Commands, SchedulingLog, SchedulingObserver } from '../ports.js';
import type { ClusterView } from '../view/cluster-view.js';
import type { EvaluationOutcome, JobScheduler, Waiting } from '../worker/job-scheduler.js';
import type { Assumptions } from './assumptions.js';

export interface EvaluatorParts {
  readonly view: ClusterView;
  readonly assumptions: Assumptions;
  readonly jobs: Commands<JobCommand, JobState>;
  readonly nodes: Commands<NodeCommand, NodeState>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: SchedulingLog;
  readonly observer: SchedulingObserver;
}

/** What this pass has already stored on the job's stream: the view may be behind it. */
interface Cursor {
  revision: bigint;
  decisions: number;
}

type PartitionOutcome = 'placed' | 'conflict' | Waiting;

/** New reservations in one pass at most, so that one huge job does not keep the others waiting. */
const MOST_PER_PASS = 20;

const ACTOR = { actor: 'system:scheduler' };

/** Looks at one job: decides for each partition that waits, claims capacity, and records the decision with its reasons. */
export class Evaluator implements JobScheduler {
  constructor(private readonly parts: EvaluatorParts) {}

  async process(evaluation: Evaluation): Promise<EvaluationOutcome> {
    const { jobId } = evaluation;
    const job = this.parts.view.cluster.jobs.get(jobId);
    if (!job || job.paused || job.cancelRequested) return { kind: 'idle' };
    const now = toInstant(this.parts.clock.now());
    const notBefore = (index: number): Instant => job.partitions[index]?.notBefore ?? '';
    const waiting = waitingPartitions(job);
    const due = waiting.filter((index) => notBefore(index) <= now);
    const [until] = waiting
      .map(notBefore)
      .filter((moment) => moment > now)
      .sort();
    if (due.length === 0) return until === undefined ? { kind: 'idle' } : { kind: 'idle', until };
    const cursor = { revision: job.revision, decisions: job.decisions };
    const outcome = await this.placeAll(job, due, cursor, evaluation);
    await this.parts.view.reached(jobStream(jobId), cursor.revision);
    if (outcome.kind === 'waiting' && until !== undefined) return { ...outcome, until };
    return outcome.kind === 'placed' && due.length < waiting.length ? { kind: 'again', because: 'more' } : outcome;
  }

  private async placeAll(
    job: ClusterJob,
    due: readonly number[],
    cursor: Cursor,
    { id: evaluationId, trigger }: Evaluation,
  ): Promise<EvaluationOutcome> {
    for (const partition of due.slice(0, MOST_PER_PASS)) {
      const outcome = await this.place(job, partition, cursor, { evaluationId, trigger });
      if (outcome === 'conflict') return { kind: 'again', because: 'conflict' };
      if (outcome !== 'placed') return { kind: 'waiting', ...outcome };
    }
    return due.length > MOST_PER_PASS ? { kind: 'again', because: 'more' } : { kind: 'placed' };
  }

  private async place(
    job: ClusterJob,
    partition: number,
    cursor: Cursor,
    reason: { readonly evaluationId: string; readonly trigger: string },
  ): Promise<PartitionOutcome> {
    const { clock, view, observer } = this.parts;
    const begun = clock.now();
    const context = { ...reason, number: cursor.decisions + 1, partition, time: toInstant(begun) };
    const placement = decide(requestOf(job, partition), view.cluster, context);
    observer.decided?.(placement.decision.outcome, clock.now() - begun);
    const { decision, nodeId, contract } = placement;
    if (nodeId === undefined || !contract) return this.defer(job, decision, cursor);
    return this.claim(job, decision, { nodeId, contract }, cursor);
  }

  /** Node first, job second; the ledger's claim is given back when the job has moved on meanwhile. */
  private async claim(
    job: ClusterJob,
    decision: Decision,
    { nodeId, contract }: { readonly nodeId: string; readonly contract: Contract },
    cursor: Cursor,
  ): Promise<PartitionOutcome> {
    const { clock, ids, assumptions, nodes } = this.parts;
    const at = toInstant(clock.now());
    const confirmBy = plusSeconds(at, job.spec.timeouts.confirm);
    const executionId = executionIdOf(job.id, ids.next().slice(-12));
    const assumedTrue = assumptions.cameTrue(decision.assumed);
    const claimed = { executionId, jobId: job.id, project: job.spec.project, contract };
    const command: NodeCommand = { type: 'ReserveCapacity', ...claimed, expiresAt: confirmBy, at };
    const seen = this.parts.view.cluster.nodes.get(nodeId)?.revision ?? -1n;
    const answer = nodes.handle(nodeStream(nodeId), command, ACTOR);
    const held = answer.then(({ kind }) => kind === 'done');
    assumptions.add({ ...claimed, nodeId }, held);
    const reserved = await answer;
    if (reserved.kind !== 'done') return this.refusedBy(nodeId, seen, reserved, { job, decision, cursor });
    const reservation = { executionId, nodeId, contract, confirmBy };
    const recorded = (await assumedTrue) && (await this.record(job.id, { decision, reservation }, cursor));
    if (recorded) return 'placed';
    await this.giveBack(executionId, nodeId);
    return 'conflict';
  }

  /** Mostly the ledger knew more than the view, which catches up; a refusal of what both knew would come again for ever. */
  private async refusedBy(
    nodeId: string,
    seen: bigint,
    answer: Exclude<Handled<NodeState>, { kind: 'done' }>,
    pass: { readonly job: ClusterJob; readonly decision: Decision; readonly cursor: Cursor },
  ): Promise<'conflict'> {
    const { observer, view } = this.parts;
    observer.conflict?.('node');
    if (answer.kind !== 'rejected') return 'conflict';
    if ((answer.revision ?? -1n) > seen) await view.reached(nodeStream(nodeId), answer.revision ?? -1n);
    else await this.leaveOut(nodeId, answer.rejection.message, pass);
    return 'conflict';
  }

  private async leaveOut(
    nodeId: string,
    message: string,
    { job, decision, cursor }: { readonly job: ClusterJob; readonly decision: Decision; readonly cursor: Cursor },
  ): Promise<void> {
    const { clock, jobs, log } = this.parts;
    log.error(
      { jobId: job.id, nodeId, refusal: message },
      'a ledger refused what the view of the same revision let in',
    );
    const reason = `the ledger of ${nodeId} refused the reservation: ${message}`;
    const { partition } = decision;
    const command: JobCommand = { type: 'LeaveOutNode', partition, nodeId, reason, at: toInstant(clock.now()) };
    const left = await jobs.handle(jobStream(job.id), command, ACTOR);
    if (left.kind === 'done') cursor.revision = left.revision;
  }

  /** Stored at the revision that the pass saw, or not at all. */
  private async record(
    jobId: string,
    change: Pick<Extract<JobCommand, { type: 'RecordDecision' }>, 'decision' | 'reservation'>,
    cursor: Cursor,
  ): Promise<boolean> {
    const { clock, jobs, observer, view } = this.parts;
    const command: JobCommand = { type: 'RecordDecision', ...change, at: toInstant(clock.now()) };
    const context = { ...ACTOR, correlationId: change.decision.evaluationId, expected: cursor.revision };
    const answer = await jobs.handle(jobStream(jobId), command, context);
    if (answer.kind === 'done') {
      cursor.revision = answer.revision;
      if (answer.events > 0) cursor.decisions += 1;
      return true;
    }
    observer.conflict?.('job');
    const actual = answer.kind === 'revision-mismatch' ? answer.actual : answer.revision;
    if (typeof actual === 'bigint') await view.reached(jobStream(jobId), actual);
    return false;
  }

  /**
   * A reservation that was taken for granted and then failed frees what this decision missed, and no event tells of it: so
   * the decision is made again.
   */
  private async defer(job: ClusterJob, decision: Decision, cursor: Cursor): Promise<PartitionOutcome> {
    const { wakesOn, wakesAt } = decision;
    const reasons = reasonsDigest(decision);
    const waiting = wakesAt === undefined ? { wakesOn, reasons } : { wakesOn, reasons, wakesAt };
    if (!(await this.parts.assumptions.cameTrue(decision.assumed))) return 'conflict';
    const last = job.lastDecision;
    const same = last?.partition === decision.partition && last.digest === reasons;
    if (same) return waiting;
    return (await this.record(job.id, { decision }, cursor)) ? waiting : 'conflict';
  }

  private async giveBack(executionId: string, nodeId: string): Promise<void> {
    const at = toInstant(this.parts.clock.now());
    const command: NodeCommand = { type: 'ReleaseCapacity', executionId, cause: 'superseded', at };
    await this.parts.nodes.handle(nodeStream(nodeId), command, ACTOR);
  }
}
