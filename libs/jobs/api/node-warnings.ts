import type { Millis } from '#kernel';
import { matchingNodes, neverReasons } from '#placement';
import type { ClusterState, PlacementRequest } from '#placement';
import { hasTargets } from '../domain/job-spec.js';

/** What the nodes that there are now mean for the job: none could ever run it, or none that it is to run on is there now. */
export const nodeWarnings = (request: PlacementRequest, cluster: ClusterState, at: Millis): string[] => {
  const never = neverReasons(request, cluster, at).map(neverWarning);
  if (!hasTargets(request.spec.type) || matchingNodes(request, cluster, at).nodeIds.length > 0) return never;
  return [...never, matchWarning(request, cluster, at)];
};

/** On how many nodes a job of the type runs that runs on all that match. */
export const matchWarning = (request: PlacementRequest, cluster: ClusterState, at: Millis): string => {
  const { nodeIds, considered, filtered } = matchingNodes(request, cluster, at);
  const { type } = request.spec;
  const of = `${String(nodeIds.length)} of ${String(considered)} enrolled nodes match now`;
  const reasons = filtered.filter(({ nodes }) => nodes > 0).map(({ reason, nodes }) => `${String(nodes)}: ${reason}`);
  const others = reasons.length > 0 ? ` (${reasons.join(', ')})` : '';
  if (nodeIds.length > 0) return `${of}, and the ${type} job runs on each${others}`;
  return type === 'ops'
    ? `${of}: an ops job fails when none does${others}`
    : `${of}: the daemon waits for some${others}`;
};

const neverWarning = (reason: { readonly reason: string; readonly asked?: string; readonly best?: string }): string => {
  const values = [reason.asked && `asked ${reason.asked}`, reason.best && `best here ${reason.best}`].filter(Boolean);
  return `no enrolled node could ever run this: ${reason.reason}${values.length > 0 ? ` (${values.join(', ')})` : ''}`;
};
