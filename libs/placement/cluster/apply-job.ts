import { toMillis } from '#kernel';
import type { Instant, Millis } from '#kernel';
import type {
  Decision,
  ExecutionReserved,
  FailureClass,
  JobEvent,
  JobRequeued,
  JobSubmitted,
  ReservationConfirmed,
} from '#jobs';
import { reasonsDigest } from '../digest.js';
import { hasTargets, isEndless } from '../job-types.js';
import { applicationRecord, blame, clear } from './blame.js';
import { digestOf, withPinned } from '../inputs.js';
import { nodeChanged } from './columns.js';
import { markConfirmed, markStarted } from './ledger.js';
import { jobArrived } from './mix.js';
import { newPartitions, partitionOf, partitionOver, targetsChanged } from './partitions.js';
import { lineUp } from './pools.js';
import { countRefusal, noRefusals } from './refusals.js';
import { ENDED_JOBS_KEPT, INPUTS_KEPT } from './state.js';
import type {
  ClusterJob,
  ClusterNode,
  ClusterState,
  EndedJob,
  LiveExecution,
  LiveState,
  PartitionState,
} from './state.js';
import { recordSuccess } from './track-record.js';

export const applyJobEvent = (cluster: ClusterState, jobId: string, revision: bigint, event: JobEvent): void => {
  const job = cluster.jobs.get(jobId);
  const past = cluster.ended.get(jobId);
  if (past) {
    if (revision <= past.revision) return;
    past.revision = revision;
    afterEnd(cluster, past, event);
  } else if (job) {
    if (revision <= job.revision) return;
    job.revision = revision;
    change(cluster, job, event);
    if (cluster.pools.size > 0) lineUp(cluster, job);
  } else if (event.type === 'JobSubmitted') {
    cluster.jobs.set(jobId, submitted(jobId, revision, event.data));
    jobArrived(cluster.mix, event.data.spec);
  }
};

/** What still runs of an ended job is told to stop and reports that; only then is nothing left of it. */
const afterEnd = (cluster: ClusterState, ended: EndedJob, event: JobEvent): void => {
  if (!ended.lingering) return;
  change(cluster, ended.lingering, event);
  if (ended.lingering.executions.size === 0) ended.lingering = undefined;
};

const submitted = (id: string, revision: bigint, data: JobSubmitted['data']): ClusterJob => ({
  id,
  spec: data.spec,
  account: data.account,
  project: data.spec.project,
  institution: data.institution,
  submittedAt: data.at,
  evaluationId: data.evaluationId,
  partitions: newPartitions(data.spec),
  executions: new Map(),
  exclusions: new Map(),
  priority: data.spec.priority,
  blocked: data.spec.dependsOn.length > 0,
  queuedAt: data.at,
  paused: false,
  cancelRequested: false,
  decisions: 0,
  lastDecision: undefined,
  fencingToken: 0,
  revision,
});

// eslint-disable-next-line max-lines-per-function -- one line for each member of the union
const change = (cluster: ClusterState, job: ClusterJob, event: JobEvent): void => {
  switch (event.type) {
    case 'JobSubmitted':
    case 'ReservationAbandoned':
    case 'ExecutionProgressed':
    case 'LateResultRejected':
    case 'EvaluationFailed':
    case 'EvaluationsSuperseded':
      return;
    case 'JobPriorityChanged':
      job.priority = event.data.priority;
      return;
    case 'JobPaused':
      job.paused = true;
      return;
    case 'JobResumed':
      job.paused = false;
      return;
    case 'DependenciesMet':
      job.blocked = false;
      job.queuedAt = event.data.at;
      job.spec = withPinned(job.spec, event.data.inputs);
      return;
    case 'JobCancelRequested':
      job.cancelRequested = true;
      return;
    case 'TargetsChanged':
      return targetsChanged(job, event.data);
    case 'PartitionFailed':
      partitionOf(job, event.data.partition).state = 'failed';
      return;
    case 'PlacementDecided':
      return decided(job, event.data);
    case 'JobRequeued':
      return requeued(job, event.data);
    case 'ExecutionReserved':
      return reserved(cluster, job, event.data);
    case 'ReservationConfirmed':
      return confirmed(cluster, job, event.data);
    case 'ExecutionPreparing':
      return moved(job, event.data.executionId, 'preparing');
    case 'ExecutionStarted':
      return started(cluster, job, event.data.executionId, event.data.at);
    case 'ExecutionPaused':
      return moved(job, event.data.executionId, 'paused');
    case 'ExecutionResumed':
      return moved(job, event.data.executionId, 'running');
    case 'ExecutionPublishing':
      return moved(job, event.data.executionId, 'publishing');
    case 'ExecutionStopRequested':
    case 'ExecutionTimedOut':
      return stopRequested(job, event.data.executionId);
    case 'ReservationDeclined':
      return over(cluster, job, event.data.executionId, 'declined', event.data.at);
    case 'ReservationExpired':
      return over(cluster, job, event.data.executionId, 'expired', event.data.at);
    case 'ExecutionSucceeded':
      return over(cluster, job, event.data.executionId, 'success', event.data.at);
    case 'ExecutionFailed':
      return over(cluster, job, event.data.executionId, event.data.class, event.data.at);
    case 'ExecutionLost':
      return over(cluster, job, event.data.executionId, 'node-lost', event.data.at);
    case 'ExecutionCancelled':
      return over(cluster, job, event.data.executionId, 'cancelled', event.data.at);
    case 'JobCompleted':
      return ended(cluster, job, 'completed', event.data.at);
    case 'JobFailed':
      return ended(cluster, job, 'failed', event.data.at);
    case 'JobCancelled':
      return ended(cluster, job, 'cancelled', event.data.at);
    default:
      return ignored(event);
  }
};

/** Newer writers may store types that this version does not know; `never` keeps the known ones complete. */
const ignored = (_event: never): void => undefined;

const decided = (job: ClusterJob, decision: Decision): void => {
  const { number, outcome, partition, time, wakesOn, wakesAt, lines } = decision;
  const digest = reasonsDigest(decision);
  job.decisions = number;
  job.lastDecision = { number, outcome, partition, time, wakesOn, wakesAt, lines, digest };
  // One of a daemon as a whole is of no part.
  const decidedFor = hasTargets(job.spec.type) ? job.partitions[partition] : partitionOf(job, partition);
  if (decidedFor) decidedFor.digest = digest;
};

const reserved = (cluster: ClusterState, job: ClusterJob, data: ExecutionReserved['data']): void => {
  const { executionId, nodeId, partition, attempt, fencingToken, contract, confirmBy, at } = data;
  const execution: LiveExecution = {
    executionId,
    jobId: job.id,
    nodeId,
    partition,
    attempt,
    fencingToken,
    contract,
    confirmBy,
    reservedAt: at,
    state: 'reserved',
    startedAt: undefined,
    stopRequested: false,
  };
  job.executions.set(executionId, execution);
  job.fencingToken = Math.max(job.fencingToken, fencingToken);
  const onNode = cluster.live.get(nodeId) ?? new Map<string, LiveExecution>();
  cluster.live.set(nodeId, onNode.set(executionId, execution));
  const state = partitionOf(job, partition);
  Object.assign(state, { state: 'live', executionId, nodeId, notBefore: undefined, digest: undefined });
  const node = cluster.nodes.get(nodeId);
  // When it is expected to end is asked of a node in a pool.
  if (node?.pool !== undefined) nodeChanged(cluster, node);
};

const moved = (job: ClusterJob, executionId: string, state: LiveState): void => {
  const execution = job.executions.get(executionId);
  if (execution) execution.state = state;
};

const stopRequested = (job: ClusterJob, executionId: string): void => {
  const execution = job.executions.get(executionId);
  if (execution) execution.stopRequested = true;
};

const confirmed = (
  cluster: ClusterState,
  job: ClusterJob,
  { executionId, contract }: ReservationConfirmed['data'],
): void => {
  moved(job, executionId, 'confirmed');
  const execution = job.executions.get(executionId);
  if (execution && contract) execution.contract = contract;
  const node = cluster.nodes.get(execution?.nodeId ?? '');
  if (!node) return;
  markConfirmed(node, executionId);
  Object.assign(node.refusals, noRefusals());
  nodeChanged(cluster, node);
};

const started = (cluster: ClusterState, job: ClusterJob, executionId: string, at: string): void => {
  const execution = job.executions.get(executionId);
  if (!execution) return;
  execution.state = 'running';
  execution.startedAt = at;
  const node = cluster.nodes.get(execution.nodeId);
  if (!node) return;
  markStarted(node, executionId);
  rememberInputs(node, job);
  nodeChanged(cluster, node);
};

/**
 * What ran here fetched its inputs, and is taken to have kept them while its agent does not say what it keeps; only what lies
 * at an address may have changed since.
 */
const rememberInputs = (node: ClusterNode, job: ClusterJob): void => {
  for (const input of job.spec.inputs) {
    const digest = digestOf(input);
    const told = digest !== undefined && node.cached !== undefined;
    if (told || (digest === undefined && !input.source.startsWith('job:'))) continue;
    const source = digest ?? input.source;
    node.inputs.delete(source);
    node.inputs.add(source);
  }
  for (const oldest of node.inputs) {
    if (node.inputs.size <= INPUTS_KEPT) break;
    node.inputs.delete(oldest);
  }
};

const over = (
  cluster: ClusterState,
  job: ClusterJob,
  executionId: string,
  outcome: FailureClass | 'success',
  at: string,
): void => {
  const execution = job.executions.get(executionId);
  if (!execution) return;
  dropExecution(cluster, job, execution);
  const partition = partitionOf(job, execution.partition);
  if (partition.executionId === executionId) partitionOver(partition, job.spec.type, outcome);
  const node = cluster.nodes.get(execution.nodeId);
  if (!node) return;
  if (outcome === 'declined' || outcome === 'expired') {
    countRefusal(node.refusals, job.id, toMillis(execution.reservedAt), toMillis(at));
  }
  if (workedForLong(job, execution, toMillis(at))) clear(partition);
  if (outcome === 'success') succeeded(node, job, partition, toMillis(at));
  else blame(cluster, { job, partition: execution.partition, node, class: outcome, at: toMillis(at) });
  nodeChanged(cluster, node);
};

/** From so long on a try of an endless job has done well, however it ends. */
const LONG_RUN: Millis = 600_000;

const workedForLong = ({ spec }: ClusterJob, { startedAt }: LiveExecution, at: Millis): boolean =>
  isEndless(spec.type) && startedAt !== undefined && at - toMillis(startedAt) >= LONG_RUN;

const dropExecution = (cluster: ClusterState, job: ClusterJob, execution: LiveExecution): void => {
  job.executions.delete(execution.executionId);
  const onNode = cluster.live.get(execution.nodeId);
  onNode?.delete(execution.executionId);
  if (onNode?.size === 0) cluster.live.delete(execution.nodeId);
};

const succeeded = (node: ClusterNode, job: ClusterJob, partition: PartitionState, at: number): void => {
  recordSuccess(node.record, at);
  const application = applicationRecord(node, job);
  if (application) recordSuccess(application, at);
  clear(partition);
};

const requeued = (job: ClusterJob, data: JobRequeued['data']): void => {
  const partition = partitionOf(job, data.partition);
  partition.state = 'waiting';
  partition.notBefore = data.notBefore;
  if (data.memory !== undefined) partition.memory = data.memory;
  // A class that this part has seen on two nodes is its own: no node is better than another for it.
  if (data.cause === 'ended' || data.seenOn !== undefined) partition.avoid = [];
  if (data.avoid !== undefined && !partition.avoid.includes(data.avoid)) {
    partition.avoid = [...partition.avoid, data.avoid];
  }
  for (const [nodeId, until] of job.exclusions) if (until <= data.at) job.exclusions.delete(nodeId);
  if (data.exclude) job.exclusions.set(data.exclude.nodeId, data.exclude.until);
};

/** Probation asks of what a node holds whether it is work of a job that goes on. */
const holdersChanged = (cluster: ClusterState, jobId: string): void => {
  for (const nodeId of cluster.holdings.get(jobId)?.keys() ?? []) {
    const node = cluster.nodes.get(nodeId);
    if (node) nodeChanged(cluster, node);
  }
};

/** The job leaves the map; what still runs of it stays in `live` until it is told over. */
const ended = (cluster: ClusterState, job: ClusterJob, outcome: EndedJob['outcome'], at: Instant): void => {
  const lingering = job.executions.size > 0 ? job : undefined;
  cluster.jobs.delete(job.id);
  holdersChanged(cluster, job.id);
  cluster.ended.set(job.id, { outcome, at: toMillis(at), revision: job.revision, lingering });
  for (const [oldest, entry] of cluster.ended) {
    if (cluster.ended.size <= ENDED_JOBS_KEPT) break;
    if (!entry.lingering) cluster.ended.delete(oldest);
  }
};
