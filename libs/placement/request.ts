import { toInstant } from '#kernel';
import type { Instant, Millis } from '#kernel';
import type { JobSpec } from '#jobs';
import type { Turn } from './cluster/pool-line.js';
import type { ClusterJob, ClusterState } from './cluster/state.js';
import { withMemory } from './grown-spec.js';

/** Who asks for what: a job's partition that waits, or a job that was not submitted yet (a dry run). */
export interface PlacementRequest {
  readonly jobId: string;
  /** As the job was submitted, but for the memory of a partition that ran out of it. */
  readonly spec: JobSpec;
  readonly account: string;
  readonly project: string;
  /** The project's institution at submission; only used while the project itself is unknown to the cluster. */
  readonly institution: string;
  /** Nodes kept out of the choice, until when. */
  readonly exclusions: ReadonlyMap<string, Instant>;
  /** Nodes that come after all others, whatever their score, because a try failed there. */
  readonly avoid: ReadonlySet<string>;
  /** The one node that it may go to; absent where any will do. It alone is considered then. */
  readonly target?: string;
  /** What its place in line depends on; absent of a job that is only planned, which would be the last of its priority. */
  readonly turn?: Turn;
}

const NONE: ReadonlySet<string> = new Set();

/**
 * The partitions that wait, the easiest to place first: what asks for less memory before what asks for more, for a node that
 * takes the one takes the other. So while the first of those that are due has no place, none has.
 */
export const waitingPartitions = ({ spec, partitions }: Pick<ClusterJob, 'spec' | 'partitions'>): number[] => {
  const waiting = partitions.flatMap(({ state }, index) => (state === 'waiting' ? [index] : []));
  if (!spec.retry.memory) return waiting;
  const memoryOf = (index: number): number => partitions[index]?.memory ?? 0;
  return waiting.sort((left, right) => memoryOf(left) - memoryOf(right) || left - right);
};

/** What a job that waits asks for first: the request of its easiest partition that is due, and of any when none waits. */
export const nextRequest = (job: ClusterJob, at: Millis): PlacementRequest => {
  if (!job.spec.retry.memory) return requestOf(job, 0);
  const now = toInstant(at);
  const waiting = waitingPartitions(job);
  const due = waiting.find((index) => (job.partitions[index]?.notBefore ?? '') <= now);
  return requestOf(job, due ?? waiting[0] ?? 0);
};

/** The request of a job in the cluster for one of its partitions. */
export const requestOf = (job: ClusterJob, partition: number): PlacementRequest => ({
  jobId: job.id,
  spec: withMemory(job.spec, job.partitions[partition]?.memory),
  account: job.account,
  project: job.project,
  institution: job.institution,
  exclusions: job.exclusions,
  avoid: new Set(job.partitions[partition]?.avoid),
  turn: { jobId: job.id, priority: job.priority, submittedAt: job.submittedAt },
  ...targetOf(job, partition),
});

const targetOf = ({ partitions }: ClusterJob, partition: number): Pick<PlacementRequest, 'target'> => {
  const target = partitions[partition]?.target;
  return target === undefined ? {} : { target };
};

/** The request of a job that is only planned: no exclusions, nothing tried yet. */
export const plannedRequest = (job: {
  readonly jobId: string;
  readonly spec: JobSpec;
  readonly account: string;
  readonly institution: string;
}): PlacementRequest => ({
  ...job,
  project: job.spec.project,
  exclusions: new Map(),
  avoid: NONE,
});

/** The institution that speaks for the request now. */
export const institutionOf = (request: PlacementRequest, cluster: ClusterState): string =>
  cluster.projects.get(request.project)?.institution ?? request.institution;
