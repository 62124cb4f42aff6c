import { toMillis } from '#kernel';
import type { Millis } from '#kernel';
import type { ClusterJob, ClusterState } from '#placement';

/**
 * Jobs of one shape get the same answer from the same cluster: everything that a filter compares is in here, and nothing
 * that tells two jobs apart otherwise (name, task). What a filter knows of the job itself makes its own shape: the nodes
 * that it leaves out at this time, the nodes where a daemon has its instance, and whether it holds anything, so that its
 * project's quota of jobs counts it already.
 */
export const shapeOf = (job: ClusterJob, cluster: ClusterState, at: Millis): string => {
  const { spec } = job;
  return JSON.stringify([
    job.account,
    job.project,
    job.institution,
    spec.type,
    spec.application,
    spec.packages,
    spec.architecture,
    spec.constraints,
    spec.resources,
    spec.batch,
    spec.estimate,
    spec.budget,
    spec.inputs.map(({ source }) => source),
    [...job.exclusions].filter(([, until]) => toMillis(until) > at),
    spec.type === 'daemon' ? job.id : '',
    holdsAny(job, cluster),
  ]);
};

const holdsAny = (job: ClusterJob, { usage }: ClusterState): boolean =>
  usage.get(job.project)?.jobs.has(job.id) === true;
