import type { Millis } from '#kernel';
import type { ClusterState } from './cluster/state.js';
import { NEVER, PASS } from './filters/check.js';
import { checksOfAll, checksOfEach } from './filters/stages.js';
import type { PlacementRequest } from './request.js';

/**
 * Whether a request that no node could take, for the stated reasons (as in `reasonsDigest`), may get another answer since
 * something changed on this node alone: the node takes it now, the node has a reason that was not stated, or its project's
 * quota has room again, which a claim given back anywhere may have made.
 */
export const mayChangeAnswer = (
  request: PlacementRequest,
  stated: ReadonlySet<string>,
  cluster: ClusterState,
  nodeId: string,
  at: Millis,
): boolean => {
  const node = cluster.nodes.get(nodeId);
  if (!node) return false;
  const failing: string[] = checksOfAll(request, cluster).flatMap(({ code, holds }) => (holds ? [] : [code]));
  for (const check of checksOfEach(request, cluster)) {
    const verdict = check.test(node, at);
    if (verdict !== PASS) failing.push(verdict === NEVER ? `${check.code}!` : check.code);
  }
  if (failing.length === 0 || failing.some((code) => !stated.has(code))) return true;
  return hasQuota(stated) && !hasQuota(failing);
};

const hasQuota = (codes: Iterable<string>): boolean => {
  for (const code of codes) if (code.startsWith('quota.')) return true;
  return false;
};
