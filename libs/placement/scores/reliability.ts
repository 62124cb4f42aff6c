import type { Millis } from '#kernel';
import { decay } from '../cluster/decay.js';
import { stepStart } from '../cluster/steps.js';
import type { ClusterNode } from '../cluster/state.js';
import type { TrackRecord } from '../cluster/track-record.js';
import { onProbation } from '../filters/executor-state.js';

/** What a node without a history is taken for: a little behind a proven one, far ahead of one that fails. */
const NEUTRAL = 0.75;

/** How many experiences the assumption about an unknown weighs: the node's about nothing, the application's about the node. */
const PRIOR = 4;

/**
 * Reliability, raw in 0…1: the share of tries that the node did not spoil, as the mean of a Beta estimate. The node's own
 * record (all work, a week-old try counting half) is seen from `NEUTRAL`, the record of this application on it from the
 * node's; so an application that never ran here is judged by the node, and few tries move little. The value is the raw
 * measure, but 0 on probation. What fails through the application, its input or the user is in neither record.
 */
export const reliability = (node: ClusterNode, application: string | undefined, at: Millis): number => {
  const now = stepStart(at);
  const byNode = estimate(node.record, NEUTRAL, now);
  const record = application === undefined ? undefined : node.applicationRecords.get(application);
  return record ? estimate(record, byNode, now) : byNode;
};

export const reliabilityValue = (raw: number, node: ClusterNode, application: string | undefined): number =>
  onProbation(node, application) ? 0 : raw;

const estimate = ({ success, failure, at: asOf }: TrackRecord, prior: number, at: Millis): number => {
  const left = decay(at - asOf);
  return (success * left + PRIOR * prior) / ((success + failure) * left + PRIOR);
};
