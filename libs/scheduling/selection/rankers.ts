import type { Millis } from '#kernel';
import { eventsThatLift, nodeAnswers, preferencesMet } from '#placement';
import type { ClusterState, NodeReason, PlacementRequest } from '#placement';
import type { RankReason, Ranker } from './rank.js';

const SUITABLE: RankReason = { code: 'suitable', text: 'takes the job now', retryable: true, changedBy: [] };
const GONE: RankReason = {
  code: 'unknown-node',
  text: 'is not enrolled',
  retryable: false,
  changedBy: ['NodeEnrolled'],
};

/** Unsuitable is whom a filter keeps out now, with the first reason for it. */
export const bySuitability = (request: PlacementRequest, cluster: ClusterState, at: Millis): Ranker => {
  const answers = new Map(nodeAnswers(request, cluster, at).map(({ nodeId, reasons }) => [nodeId, reasons]));
  return (nodeId) => {
    const reasons = answers.get(nodeId);
    if (!reasons) return { rank: -1, reason: GONE };
    const [first] = reasons;
    return first ? { rank: -1, reason: reasonOf(first) } : { rank: 0, reason: SUITABLE };
  };
};

/** Preferred is who meets one of the job's preferences at least. */
export const byPreference =
  (request: PlacementRequest, cluster: ClusterState): Ranker =>
  (nodeId) =>
    preferencesMet(request, cluster, nodeId) > 0
      ? { rank: 10, reason: labelled('preferred', 'meets a preference of the job') }
      : { rank: 0, reason: labelled('no-preference', 'meets no preference of the job') };

const labelled = (code: string, text: string): RankReason => ({
  code,
  text,
  retryable: false,
  changedBy: ['NodeInventoryChanged'],
});

/** A reason of placement; one that is "never" needs the node itself, or the job, to change. */
export const reasonOf = ({ reason, never, description, until }: Omit<NodeReason, 'lifted' | 'side'>): RankReason => {
  const changedBy = eventsThatLift(reason, never);
  const retryable = !never && (changedBy.length > 0 || until !== undefined);
  return { code: reason, text: description, retryable, changedBy };
};
