import type { JobSpec } from '#jobs';
import type { ClusterState } from '../cluster/state.js';
import { longestRun } from '../filters/maintenance.js';
import { behindIn } from '../filters/pool.js';
import { isEndless } from '../job-types.js';
import { institutionOf } from '../request.js';
import type { PlacementRequest } from '../request.js';

/**
 * Requests with the same key are asked the same of every node and score it alike: everything that checks and scores read is
 * in here, but for what a request says of single nodes (see `namedPlaces`) and of its project's quota.
 */
export const shapeKey = (request: PlacementRequest, cluster: ClusterState): string =>
  JSON.stringify([request.account, request.project, institutionOf(request, cluster)]) +
  keyOfSpec(request.spec) +
  behindKey(request, cluster);

/**
 * In which lines others stand before the request, and whether it ever ends: what the nodes answer then is looked up whenever
 * they are asked.
 */
export const behindKey = (request: PlacementRequest, cluster: ClusterState): string =>
  cluster.pools.size === 0 ? '' : JSON.stringify([isEndless(request.spec.type), behindIn(request, cluster)]);

/** A key made once for each spec, remembered by its identity; a spec never changes. */
const remembered = (make: (spec: JobSpec) => string): ((spec: JobSpec) => string) => {
  const keys = new WeakMap<JobSpec, string>();
  return (spec) => {
    const known = keys.get(spec);
    if (known !== undefined) return known;
    const made = make(spec);
    keys.set(spec, made);
    return made;
  };
};

/** The same for specs of which filters compare the same, whatever their scores would be. */
export const demandKey = remembered((spec) =>
  JSON.stringify([
    spec.task.image !== undefined,
    spec.application,
    spec.packages,
    spec.architecture,
    spec.constraints,
    spec.resources,
    spec.batch,
    spec.estimate,
    longestRun(spec),
    spec.budget,
    spec.inputs.map(({ source }) => source),
  ]),
);

/** No filter asks for the type, but the profile may follow from it. */
const keyOfSpec = remembered(
  (spec) =>
    demandKey(spec) +
    JSON.stringify([
      spec.type,
      spec.preferences,
      spec.inputs.map(({ size, sha256 }) => [size, sha256]),
      spec.profile,
      spec.weights,
    ]),
);
