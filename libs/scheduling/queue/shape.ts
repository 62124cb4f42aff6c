import type { ClusterJob, ClusterState } from '#placement';

/**
 * Jobs of one shape get the same answer from the same cluster: everything that a filter compares is in here, and nothing
 * that tells two jobs apart otherwise (name, task). What a filter knows of the job itself makes its own shape: the nodes
 * that it leaves out, the nodes where a daemon has its instance, and whether it is among the jobs that its project's quota
 * counts.
 */
export const shapeOf = (job: ClusterJob, cluster: ClusterState): string => {
  const own = [...job.exclusions].map(([nodeId, until]) => `${nodeId}@${until}`);
  if (job.spec.type === 'daemon' || cluster.projects.get(job.project)?.quota.jobs !== undefined) own.push(job.id);
  return own.length > 0 ? `${base(job)} ${own.join(' ')}` : base(job);
};

const bases = new WeakMap<ClusterJob, string>();

const base = (job: ClusterJob): string => {
  const known = bases.get(job);
  if (known !== undefined) return known;
  const { spec } = job;
  const made = JSON.stringify([
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
  ]);
  bases.set(job, made);
  return made;
};
