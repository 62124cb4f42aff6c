import type { FailureClass, JobSpec, JobType, TargetsChanged } from '#jobs';
import { hasTargets, isEndless } from '../job-types.js';
import type { ClusterJob, PartitionState } from './state.js';

/* The partitions of a job, as its own fold has them. */

export const newPartitions = ({ type, count }: JobSpec): PartitionState[] =>
  hasTargets(type) ? [] : Array.from({ length: count }, waitingPartition);

const waitingPartition = (): PartitionState => ({
  state: 'waiting',
  target: undefined,
  leaving: false,
  executionId: undefined,
  nodeId: undefined,
  notBefore: undefined,
  avoid: [],
  memory: undefined,
  digest: undefined,
  blame: [],
});

/** A partition beyond the job's count would be a writer's fault; the fold of what was stored must still go on. */
export const partitionOf = (job: ClusterJob, partition: number): PartitionState => {
  while (job.partitions.length <= partition) job.partitions.push(waitingPartition());
  return job.partitions[partition] ?? waitingPartition();
};

/** One that comes back keeps nothing but its number. */
export const targetsChanged = (job: ClusterJob, { added, removed }: TargetsChanged['data']): void => {
  for (const index of removed) {
    const partition = partitionOf(job, index);
    if (partition.state === 'live') partition.leaving = true;
    else partition.state = 'removed';
  }
  for (const { partition: index, nodeId } of added) {
    const partition = partitionOf(job, index);
    const { state, executionId, nodeId: last } = partition;
    const live = state === 'live' ? { state, executionId, nodeId: last } : {};
    Object.assign(partition, waitingPartition(), live, { target: nodeId });
  }
};

export const partitionOver = (partition: PartitionState, type: JobType, outcome: FailureClass | 'success'): void => {
  const waits = outcome !== 'success' || isEndless(type);
  partition.state = !waits ? 'done' : partition.leaving ? 'removed' : 'waiting';
  partition.leaving = false;
};
