import type { Millis } from '#kernel';
import { boardOf } from './board/boards.js';
import type { ClusterState } from './cluster/state.js';
import { NEVER, PASS } from './filters/check.js';
import type { Check } from './filters/check.js';
import { checksOfAll, checksOfEach } from './filters/stages.js';
import type { PlacementRequest } from './request.js';

/** Why no node could take a request, by the codes of `reasonsDigest`, and until when that stood unless an event came. */
export interface StatedReasons {
  readonly reasons: ReadonlySet<string>;
  readonly wakesAt: Millis | undefined;
}

/**
 * Whether a request that no node could take may get another answer since something changed on this node alone: the node
 * takes it now, or refuses it for nothing that was stated, so that nobody would hear of the end of that; or its project's
 * quota has room again, which a claim given back anywhere may have made. A stated reason that holds is enough to wait on.
 */
export const mayChangeAnswer = (
  request: PlacementRequest,
  { reasons, wakesAt }: StatedReasons,
  cluster: ClusterState,
  nodeId: string,
  at: Millis,
): boolean => {
  const node = cluster.nodes.get(nodeId);
  if (!node) return false;
  const failing = checksOfAll(request, cluster).filter(({ holds }) => !holds);
  if (failing.length > 0) return !failing.some(({ code }) => reasons.has(code));
  if (hasQuota(reasons)) return true;
  if (request.target !== undefined && request.target !== nodeId) return false;
  for (const check of checksOn(nodeId, request, cluster)) {
    const verdict = check.test(node, at);
    if (verdict === PASS) continue;
    if (!reasons.has(verdict === NEVER ? `${check.code}!` : check.code)) continue;
    const until = check.until(node, at);
    if (until === undefined || (wakesAt !== undefined && wakesAt <= until)) return false;
  }
  return true;
};

/** What its whole shape asks is remembered; what the request asks of a node that it names is not. */
const checksOn = (nodeId: string, request: PlacementRequest, cluster: ClusterState): readonly Check[] => {
  const named = request.target !== undefined || request.exclusions.has(nodeId);
  return named ? checksOfEach(request, cluster) : boardOf(request, cluster).checks;
};

const hasQuota = (codes: ReadonlySet<string>): boolean => {
  for (const code of codes) if (code.startsWith('quota.')) return true;
  return false;
};
