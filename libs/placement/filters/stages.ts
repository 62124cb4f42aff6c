import type { ClusterState } from '../cluster/state.js';
import { demandOf } from '../demand.js';
import type { PlacementRequest } from '../request.js';
import { architectureChecks } from './architecture.js';
import { capacityChecks } from './capacity.js';
import type { Check, RequestCheck } from './check.js';
import { dataChecks } from './data.js';
import { executorStateChecks } from './executor-state.js';
import { ownerChecks, projectChecks } from './permission.js';
import { poolChecks } from './pool.js';
import { softwareChecks } from './software.js';

/** What is asked of the request alone and comes first; see `projectChecks`. */
export const checksOfAll = (request: PlacementRequest, cluster: ClusterState): readonly RequestCheck[] =>
  projectChecks(request, demandOf(request.spec), cluster);

/**
 * What is asked of each node, stage after stage. Requests of one shape (see `shapeKey`) have the same checks in the same
 * places, and but for the nodes that a request names (see `named`) the same answers.
 */
export const checksOfEach = (request: PlacementRequest, cluster: ClusterState): readonly Check[] => {
  const demand = demandOf(request.spec);
  return [
    ...ownerChecks(request, demand, cluster),
    ...executorStateChecks(request, cluster),
    ...softwareChecks(demand),
    ...architectureChecks(demand),
    ...dataChecks(request.spec),
    ...capacityChecks(demand),
    ...poolChecks(request, demand, cluster),
  ];
};
