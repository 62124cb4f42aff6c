import { toMillis } from '#kernel';
import type { Millis } from '#kernel';
import { hasTargets } from '#jobs';
import { behindKey, demandKey, nextRequest } from '#placement';
import type { ClusterJob, ClusterState } from '#placement';

/**
 * Jobs of one shape get the same answer from the same cluster: everything that a filter compares is in here, and nothing
 * that tells two jobs apart otherwise (name, task). What a filter knows of the job itself makes its own shape: the nodes
 * that it leaves out at this time, the nodes that its parts belong to, and whether it holds anything, so that its project's
 * quota of jobs counts it already. So do the lines of pools in which another job stands before it. Of parts that ask for
 * more memory than others the easiest to place counts.
 */
export const shapeOf = (job: ClusterJob, cluster: ClusterState, at: Millis): string => {
  const request = nextRequest(job, at);
  const own = JSON.stringify([
    job.account,
    job.project,
    job.institution,
    [...job.exclusions].filter(([, until]) => toMillis(until) > at),
    hasTargets(job.spec.type) ? job.id : '',
    holdsAny(job, cluster),
  ]);
  return own + demandKey(request.spec) + behindKey(request, cluster);
};

const holdsAny = (job: ClusterJob, { usage }: ClusterState): boolean =>
  usage.get(job.project)?.jobs.has(job.id) === true;
