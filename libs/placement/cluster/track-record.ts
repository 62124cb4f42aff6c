import type { Millis } from '#kernel';
import type { FailureClass } from '#jobs';
import { decay } from './decay.js';

/** Decayed successes and failures as of `at`. `streak` counts failures since the last success and does not decay. */
export interface TrackRecord {
  success: number;
  failure: number;
  streak: number;
  at: Millis;
}

export const emptyRecord = (): TrackRecord => ({ success: 0, failure: 0, streak: 0, at: 0 });

/**
 * How much an ending counts against the node. Infrastructure, a lost node and a timeout are its doing in full; a
 * reservation that was declined or not answered a little. What the application, its inputs, its demands, a policy or the
 * user brought about never counts.
 */
export const FAILURE_WEIGHTS: Readonly<Record<FailureClass, number>> = {
  infrastructure: 1,
  'node-lost': 1,
  timeout: 1,
  expired: 0.25,
  declined: 0.25,
  application: 0,
  input: 0,
  resource: 0,
  policy: 0,
  cancelled: 0,
};

/** From this streak on the node is on probation: one job at a time, until one succeeds. */
export const PROBATION_STREAK = 3;

export const recordSuccess = (record: TrackRecord, at: Millis): void => {
  ageTo(record, at);
  record.success += 1;
  record.streak = 0;
};

export const recordFailure = (record: TrackRecord, weight: number, at: Millis): void => {
  if (weight === 0) return;
  ageTo(record, at);
  record.failure += weight;
  record.streak += weight;
};

const ageTo = (record: TrackRecord, at: Millis): void => {
  const left = decay(at - record.at);
  record.success *= left;
  record.failure *= left;
  record.at = Math.max(record.at, at);
};
