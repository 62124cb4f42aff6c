import type { AssignedBatch, AssignedInput, AssignedTask, Assignment, DesiredState } from '#contracts';
import { itemsOfPartition } from '#jobs';
import type { JobSpec } from '#jobs';
import type { ClusterJob, ClusterState, LiveExecution } from '#placement';

/** What an agent is told of one execution; everything it needs to run it. */
export const assignmentOf = (cluster: ClusterState, execution: LiveExecution): Assignment => {
  const { executionId, fencingToken, jobId, attempt, contract, confirmBy, state } = execution;
  const told = { executionId, fencingToken, jobId, attempt, contract, confirmBy, state };
  const job = cluster.jobs.get(jobId);
  const priority = job && { priority: job.priority };
  return { ...told, ...priority, desired: desiredState(cluster, execution), ...workOf(cluster, execution) };
};

/** A job that has ended but still has something running wants it stopped. */
const desiredState = (cluster: ClusterState, { jobId, stopRequested }: LiveExecution): DesiredState => {
  const job = cluster.jobs.get(jobId);
  if (!job || job.cancelRequested || stopRequested) return 'stop';
  return job.paused ? 'pause' : 'run';
};

const workOf = (
  cluster: ClusterState,
  execution: LiveExecution,
): { readonly task: AssignedTask; readonly inputs: readonly AssignedInput[] } => {
  const job = cluster.jobs.get(execution.jobId);
  const { partition } = execution;
  if (!job) return { task: { command: [], env: {}, outputs: [], partition, partitions: 1 }, inputs: [] };
  const { spec } = job;
  const limit = spec.timeouts.run === undefined ? {} : { runTimeout: spec.timeouts.run };
  const { duration } = spec.estimate;
  const expected = duration === undefined ? {} : { duration };
  const { command, env, image } = spec.task;
  const batch = spec.batch && { batch: batchOf(spec.batch, partition, spec.count) };
  const told = { command, env, ...(image !== undefined && { image }), outputs: spec.outputs };
  const task = { ...told, partition, partitions: partitionsOf(job), ...batch, ...expected, ...limit };
  return { task, inputs: spec.inputs };
};

/** As many as were reserved stands in the contract. */
const batchOf = (
  { min, memoryPerItem, gpuMemoryPerItem, items }: NonNullable<JobSpec['batch']>,
  partition: number,
  count: number,
): AssignedBatch => ({
  min,
  memoryPerItem,
  gpuMemoryPerItem,
  ...(items !== undefined && { items: { ...itemsOfPartition(items, partition, count), of: items } }),
});

/** How many there are now: of a daemon they come and go with its nodes, and each keeps its number. */
const partitionsOf = ({ partitions }: ClusterJob): number =>
  partitions.filter(({ state, leaving }) => state !== 'removed' && !leaving).length;
