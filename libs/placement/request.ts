import type { Instant } from '#kernel';
import type { JobSpec } from '#jobs';
import type { ClusterJob, ClusterState } from './cluster/state.js';

/** Who asks for what: a job's partition that waits, or a job that was not submitted yet (a dry run). */
export interface PlacementRequest {
  readonly jobId: string;
  readonly spec: JobSpec;
  readonly account: string;
  readonly project: string;
  /** The project's institution at submission; only used while the project itself is unknown to the cluster. */
  readonly institution: string;
  /** Nodes kept out of the choice, until when. */
  readonly exclusions: ReadonlyMap<string, Instant>;
  /** Nodes that come after all others, whatever their score, because a try failed there. */
  readonly avoid: ReadonlySet<string>;
  /** Nodes that already have their instance of a daemon. */
  readonly occupied: ReadonlySet<string>;
}

const NONE: ReadonlySet<string> = new Set();

/** The request of a job in the cluster for one of its partitions. */
export const requestOf = (job: ClusterJob, partition: number): PlacementRequest => ({
  jobId: job.id,
  spec: job.spec,
  account: job.account,
  project: job.project,
  institution: job.institution,
  exclusions: job.exclusions,
  avoid: new Set(job.partitions[partition]?.avoid),
  occupied: job.spec.type === 'daemon' ? occupiedBy(job) : NONE,
});

const occupiedBy = (job: ClusterJob): ReadonlySet<string> =>
  new Set(job.partitions.flatMap(({ state, nodeId }) => (state !== 'waiting' && nodeId !== undefined ? [nodeId] : [])));

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
  occupied: NONE,
});

/** The institution that speaks for the request now. */
export const institutionOf = (request: PlacementRequest, cluster: ClusterState): string =>
  cluster.projects.get(request.project)?.institution ?? request.institution;
