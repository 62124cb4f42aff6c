import type { Millis } from '#kernel';
import { boardOf } from './board/boards.js';
import type { ClusterState } from './cluster/state.js';
import { NEVER, PASS } from './filters/check.js';
import type { Check } from './filters/check.js';
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
  const failing = checksOfAll(request, cluster).filter(({ holds }) => !holds);
  if (failing.some(({ code }) => !stated.has(code))) return true;
  if (hasQuota(stated) && !failing.some(({ code }) => isQuota(code))) return true;
  let passes = failing.length === 0;
  for (const check of checksOn(nodeId, request, cluster)) {
    const verdict = check.test(node, at);
    if (verdict === PASS) continue;
    if (!stated.has(verdict === NEVER ? `${check.code}!` : check.code)) return true;
    passes = false;
  }
  return passes;
};

/** What its whole shape asks is remembered; what the request asks of a node that it names is not. */
const checksOn = (nodeId: string, request: PlacementRequest, cluster: ClusterState): readonly Check[] => {
  const named = request.spec.type === 'daemon' || request.exclusions.has(nodeId);
  return named ? checksOfEach(request, cluster) : boardOf(request, cluster).checks;
};

const isQuota = (code: string): boolean => code.startsWith('quota.');

const hasQuota = (codes: Iterable<string>): boolean => {
  for (const code of codes) if (isQuota(code)) return true;
  return false;
};
