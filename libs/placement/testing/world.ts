import type { Instant } from '#kernel';
import type { FailureClass, JobEvent, JobSpec } from '#jobs';
import type { Contract, Inventory, NodeEvent, Policy } from '#nodes';
import type { ProjectConfigured } from '#projects';
import { aContract, aDecision, aJobSpec, anInventory, second } from '#testing';
import { applyEvent, decide, emptyCluster, plannedRequest, requestOf } from '../index.js';
import type { ClusterEvent, ClusterState, NodeExplanation, Placement, PlacementRequest } from '../index.js';

export const GIB = 1024 ** 3;

type AnyEvent = JobEvent | NodeEvent | ProjectConfigured;

export interface NodeChange {
  readonly inventory?: Partial<Inventory>;
  readonly policy?: Policy;
  readonly institution?: string;
  readonly owner?: string;
  /** Seconds after the epoch at which it enrols. */
  readonly at?: number;
}

/**
 * A log that is written event by event and folded as it grows. Project `demo` of institution `usp` is everybody's. A node
 * is online unless it is told otherwise.
 */
export class World {
  readonly cluster: ClusterState = emptyCluster();
  readonly events: ClusterEvent[] = [];
  private readonly revisions = new Map<string, bigint>();
  private position = 0n;
  private executions = 0;

  constructor() {
    this.project({});
  }

  /** Appends to a stream and folds. Positions rise by seven, as they are never consecutive. */
  record(stream: string, { type, data }: AnyEvent): void {
    const revision = (this.revisions.get(stream) ?? -1n) + 1n;
    this.revisions.set(stream, revision);
    const event = { stream, revision, position: (this.position += 7n), type, data };
    this.events.push(event);
    applyEvent(this.cluster, event);
  }

  project(change: Partial<ProjectConfigured['data']>): void {
    const data = { projectId: 'demo', institution: 'usp', members: ['*'], quota: {}, weight: 1, at: second(0) };
    this.record(`project-${change.projectId ?? 'demo'}`, { type: 'ProjectConfigured', data: { ...data, ...change } });
  }

  node(nodeId: string, change: NodeChange = {}): void {
    const { policy = {}, institution = 'usp', owner = 'olga' } = change;
    const at = second(change.at ?? 0);
    const data = { nodeId, name: nodeId, owner, institution, inventory: anInventory(change.inventory), policy, at };
    this.record(`node-${nodeId}`, { type: 'NodeEnrolled', data });
    this.record(`node-${nodeId}`, { type: 'NodeWentOnline', data: { at } });
  }

  onNode(nodeId: string, event: NodeEvent): void {
    this.record(`node-${nodeId}`, event);
  }

  job(jobId: string, spec: Partial<JobSpec> = {}): void {
    this.record(`job-${jobId}`, {
      type: 'JobSubmitted',
      data: {
        jobId,
        spec: aJobSpec(spec),
        account: 'ana',
        institution: 'usp',
        evaluationId: 'evaluation',
        fingerprint: jobId,
        at: second(0),
      },
    });
  }

  onJob(jobId: string, event: JobEvent): void {
    this.record(`job-${jobId}`, event);
  }

  /** Gives the job these nodes, each with its partition from 0. */
  targets(jobId: string, nodeIds: readonly string[]): void {
    const added = nodeIds.map((nodeId, partition) => ({ partition, nodeId }));
    const data = { evaluationId: 'evaluation', position: '0', algorithm: '1', added, removed: [], at: second(0) };
    this.onJob(jobId, { type: 'TargetsChanged', data });
  }

  /** Reserves on the node's ledger and on the job's stream; answers the execution's id. */
  reserve(
    jobId: string,
    nodeId: string,
    contract: Partial<Contract> = {},
    partition = 0,
    at: Instant = second(0),
  ): string {
    this.executions += 1;
    const executionId = `${jobId}.${this.executions}`;
    const given = aContract(contract);
    const project = this.cluster.jobs.get(jobId)?.project ?? 'demo';
    const held = { executionId, jobId, project, contract: given, expiresAt: second(15), at };
    this.onNode(nodeId, { type: 'CapacityReserved', data: held });
    const number = (this.cluster.jobs.get(jobId)?.decisions ?? 0) + 1;
    this.onJob(jobId, { type: 'PlacementDecided', data: aDecision({ number, partition, winner: nodeId }) });
    this.onJob(jobId, {
      type: 'ExecutionReserved',
      data: {
        executionId,
        partition,
        attempt: 1,
        nodeId,
        fencingToken: number,
        contract: given,
        confirmBy: second(15),
        at,
      },
    });
    return executionId;
  }

  release(nodeId: string, executionId: string, at: Instant = second(0)): void {
    this.onNode(nodeId, { type: 'CapacityReleased', data: { executionId, cause: 'failed', at } });
  }

  /** A try of its own job on the node, from reservation to this end, its capacity given back. */
  run(nodeId: string, outcome: FailureClass | 'success', spec: Partial<JobSpec> = {}, at: Instant = second(0)): void {
    const jobId = `run-${this.executions + 1}`;
    this.job(jobId, spec);
    const executionId = this.reserve(jobId, nodeId, {}, 0, at);
    this.onJob(jobId, ending(executionId, outcome, at));
    this.release(nodeId, executionId, at);
    this.onJob(jobId, { type: 'JobCancelled', data: { reason: 'over', at } });
  }

  request(spec: Partial<JobSpec> = {}, change: Partial<PlacementRequest> = {}): PlacementRequest {
    const planned = { jobId: 'planned', spec: aJobSpec(spec), account: 'ana', institution: 'usp' };
    return { ...plannedRequest(planned), ...change };
  }

  /** What would be decided for a job that is only planned. */
  plan(spec: Partial<JobSpec> = {}, time: Instant = second(0), change: Partial<PlacementRequest> = {}): Placement {
    return decide(this.request(spec, change), this.cluster, contextAt(time));
  }

  /** What is decided for a partition of a job that was submitted. */
  decide(jobId: string, time: Instant = second(0), partition = 0): Placement {
    const job = this.cluster.jobs.get(jobId);
    if (!job) throw new Error(`there is no live job ${jobId}`);
    return decide(requestOf(job, partition), this.cluster, { ...contextAt(time), partition });
  }
}

export const ending = (executionId: string, outcome: FailureClass | 'success', at: Instant): JobEvent => {
  switch (outcome) {
    case 'success': {
      const consumption = {
        cpuSeconds: 1,
        wallSeconds: 1,
        maxMemory: 1,
        maxDisk: 1,
        gpuSeconds: 0,
        bytesIn: 0,
        bytesOut: 0,
      };
      return { type: 'ExecutionSucceeded', data: { executionId, exitCode: 0, artifacts: [], consumption, at } };
    }
    case 'node-lost':
      return { type: 'ExecutionLost', data: { executionId, reason: 'silent', at } };
    case 'expired':
      return { type: 'ReservationExpired', data: { executionId, confirmBy: at, at } };
    case 'declined':
      return { type: 'ReservationDeclined', data: { executionId, reason: 'full', at } };
    case 'cancelled':
      return { type: 'ExecutionCancelled', data: { executionId, reason: 'asked', at } };
    default: {
      const failure = { class: outcome, code: 'x', message: 'x', diagnostics: {}, artifacts: [] };
      return { type: 'ExecutionFailed', data: { executionId, ...failure, at } };
    }
  }
};

export const contextAt = (time: Instant) => ({
  number: 1,
  evaluationId: 'evaluation',
  trigger: 'JobSubmitted',
  partition: 0,
  time,
});

/** `capacity.memory!` for a lasting reason, `node.offline` for one that may pass; primary ones only, in order. */
export const primaryReasons = ({ decision }: Placement): string[] =>
  decision.filtered.filter(({ nodes }) => nodes > 0).map(({ reason, never }) => (never ? `${reason}!` : reason));

/** All failing reasons of one node, in order. */
export const reasonsOn = (explanation: NodeExplanation): string[] =>
  explanation.kind === 'filtered'
    ? explanation.reasons.map(({ reason, never }) => (never ? `${reason}!` : reason))
    : [];
