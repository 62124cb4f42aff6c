import { toMillis } from '#kernel';
import type { Instant, Millis } from '#kernel';
import { JOB_STREAM_PREFIX, NODE_STREAM_PREFIX, PROJECT_STREAM_PREFIX } from './streams.js';
import type { ClusterJob, ClusterNode, ClusterState, LiveExecution } from './state.js';

/** The revision of the last event applied of a stream; undefined for one that the cluster does not know (any more). */
export const appliedRevision = ({ jobs, ended, nodes, projects }: ClusterState, stream: string): bigint | undefined => {
  const id = (prefix: string): string => stream.slice(prefix.length);
  if (stream.startsWith(JOB_STREAM_PREFIX)) {
    const jobId = id(JOB_STREAM_PREFIX);
    return (jobs.get(jobId) ?? ended.get(jobId))?.revision;
  }
  if (stream.startsWith(NODE_STREAM_PREFIX)) return nodes.get(id(NODE_STREAM_PREFIX))?.revision;
  return projects.get(id(PROJECT_STREAM_PREFIX))?.revision;
};

/** What a node is to hold, oldest first; its job is in `cluster.jobs` under `jobId`. */
export const liveExecutions = (cluster: ClusterState, nodeId: string): readonly LiveExecution[] => [
  ...(cluster.live.get(nodeId)?.values() ?? []),
];

/** What an agent is to do with an execution of this job. */
export const desiredOf = (job: Pick<ClusterJob, 'paused' | 'cancelRequested'>): 'run' | 'stop' | 'pause' =>
  job.cancelRequested ? 'stop' : job.paused ? 'pause' : 'run';

/**
 * Indexes of the partitions that may be placed at a time. None for a job that is paused or to be cancelled, or that waits for
 * others.
 */
export const placeablePartitions = (job: ClusterJob, time: Instant): readonly number[] =>
  job.paused || job.blocked || job.cancelRequested
    ? []
    : job.partitions.flatMap(({ state, notBefore }, index) =>
        state === 'waiting' && (notBefore === undefined || notBefore <= time) ? [index] : [],
      );

export interface FreeDevice {
  readonly id: string;
  readonly model: string;
  readonly share: number;
  readonly memory: number;
}

/** What is free on a node, in the units of the inventory; never below 0. Assumed reservations count as held. */
export interface FreeCapacity {
  readonly cpu: number;
  readonly memory: number;
  readonly disk: number;
  readonly ioSlots: number;
  readonly gpus: readonly FreeDevice[];
}

export const freeCapacity = ({ total, used, devices }: ClusterNode): FreeCapacity => ({
  cpu: Math.max(0, total.cpu - used.cpu) / 1000,
  memory: Math.max(0, total.memory - used.memory),
  disk: Math.max(0, total.disk - used.disk),
  ioSlots: Math.max(0, total.ioSlots - used.ioSlots),
  gpus: devices.map(({ id, model, memory, usedShare, usedMemory }) => ({
    id,
    model,
    share: Math.max(0, 1000 - usedShare) / 1000,
    memory: Math.max(0, memory - usedMemory),
  })),
});

/** The end of an exclusion that still holds at a time. */
export const excludedUntil = (
  exclusions: ReadonlyMap<string, Instant>,
  nodeId: string,
  at: Millis,
): Millis | undefined => {
  const until = exclusions.get(nodeId);
  if (until === undefined) return undefined;
  const end = toMillis(until);
  return end > at ? end : undefined;
};
