import type { ClusterJob } from '#placement';

/**
 * Jobs of one shape get the same answer from the same cluster: everything that a filter compares is in here, and nothing
 * that tells two jobs apart otherwise (id, name, task). A node that one job leaves out for itself makes its own shape.
 */
export const shapeOf = (job: ClusterJob): string => {
  const own = [...job.exclusions].map(([nodeId, until]) => `${nodeId}@${until}`);
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
