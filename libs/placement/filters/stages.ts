import type { ClusterState } from '../cluster/state.js';
import { demandOf } from '../demand.js';
import type { PlacementRequest } from '../request.js';
import { architectureChecks } from './architecture.js';
import { capacityChecks } from './capacity.js';
import type { Check } from './check.js';
import { dataChecks } from './data.js';
import { executorStateChecks } from './executor-state.js';
import { permissionChecks } from './permission.js';
import { softwareChecks } from './software.js';

/** All checks of a request, stage after stage: the first that a node fails is its primary reason. */
export const checksFor = (request: PlacementRequest, cluster: ClusterState): readonly Check[] => {
  const demand = demandOf(request.spec);
  return [
    ...permissionChecks(request, demand, cluster),
    ...executorStateChecks(request, cluster),
    ...softwareChecks(demand),
    ...architectureChecks(demand),
    ...dataChecks(request.spec),
    ...capacityChecks(demand),
  ];
};
