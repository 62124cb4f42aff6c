import { toInstant } from '#kernel';
import type { Millis } from '#kernel';
import { hasTargets } from '#jobs';
import { assume, decide, unassume } from '#placement';
import type { ClusterState, PlacementRequest } from '#placement';
import { allMatchingNodes, topMatchingNodes } from './selection.js';
import type { CountedReason, NotEnoughNodes } from './selection.js';

/** Partitions that a dry run tries to place at most: it answers a person, and nobody else has the process meanwhile. */
const MOST_TRIED = 200;

/** What would come of all partitions of a job that were submitted now. */
export interface DryRun {
  /** Partitions that there would be. */
  readonly partitions: number;
  /** How many of the first `tried` could start now. */
  readonly startNow: number;
  readonly tried: number;
  /** What keeps the rest; absent when nothing does. */
  readonly rest?: Omit<NotEnoughNodes, 'kind'>;
}

/**
 * Places the partitions one after another as the scheduler would, each when the ones before it are confirmed, and leaves the
 * cluster as it was.
 */
export const dryRun = (request: PlacementRequest, cluster: ClusterState, at: Millis): DryRun => {
  const matching = hasTargets(request.spec.type) ? allMatchingNodes(request, cluster, at) : undefined;
  const partitions = matching?.nodeIds.length ?? request.spec.count;
  const requests = Array.from({ length: Math.min(partitions, MOST_TRIED) }, (_, index): PlacementRequest => {
    const target = matching?.nodeIds[index];
    return target === undefined ? request : { ...request, target };
  });
  const startNow = startable(requests, cluster, at);
  const base = { partitions, startNow, tried: requests.length };
  if (startNow === requests.length && partitions > 0) return base;
  const rest = restOf(request, partitions, cluster, at, matching?.reasons);
  return rest ? { ...base, rest } : base;
};

const startable = (requests: readonly PlacementRequest[], cluster: ClusterState, at: Millis): number => {
  const placed: string[] = [];
  try {
    for (const [partition, request] of requests.entries()) {
      const context = { number: 1, evaluationId: '', trigger: 'plan', partition, time: toInstant(at) };
      const { nodeId, contract } = decide(request, cluster, context);
      if (nodeId !== undefined && contract) {
        const executionId = `${request.jobId}.${String(partition)}`;
        const reservation = { executionId, nodeId, jobId: request.jobId, project: request.project, contract };
        assume(cluster, reservation, true);
        placed.push(executionId);
      } else if (request.target === undefined) break;
    }
    return placed.length;
  } finally {
    for (const executionId of placed) unassume(cluster, executionId);
  }
};

/** Nodes of its own that a job waits for are told with why they do not match, where none does. */
const restOf = (
  request: PlacementRequest,
  partitions: number,
  cluster: ClusterState,
  at: Millis,
  unmatched: readonly CountedReason[] | undefined,
): DryRun['rest'] => {
  const top = topMatchingNodes(request, Math.max(1, partitions), cluster, at);
  if (top.kind === 'selected') return undefined;
  const { kind: _kind, ...refusal } = top;
  return partitions === 0 && unmatched ? { ...refusal, reasons: unmatched } : refusal;
};
