import type { JobSpec } from '#jobs';
import type { ClusterState } from '../cluster/state.js';
import { institutionOf } from '../request.js';
import type { PlacementRequest } from '../request.js';

/**
 * Requests with the same key are asked the same of every node and score it alike: everything that checks and scores read is
 * in here, but for what a request says of single nodes (see `namedNodes`) and of its project's quota.
 */
export const shapeKey = (request: PlacementRequest, cluster: ClusterState): string =>
  JSON.stringify([request.account, request.project, institutionOf(request, cluster)]) + keyOfSpec(request.spec);

const keys = new WeakMap<JobSpec, string>();

const keyOfSpec = (spec: JobSpec): string => {
  const known = keys.get(spec);
  if (known !== undefined) return known;
  const made = JSON.stringify([
    spec.type,
    spec.application,
    spec.packages,
    spec.architecture,
    spec.constraints,
    spec.preferences,
    spec.resources,
    spec.batch,
    spec.estimate,
    spec.budget,
    spec.inputs.map(({ source, size }) => [source, size]),
    spec.profile,
    spec.weights,
  ]);
  keys.set(spec, made);
  return made;
};
