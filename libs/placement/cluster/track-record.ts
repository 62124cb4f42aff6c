import type { Millis } from '#kernel';
import type { FailureClass } from '#jobs';
import { decay } from './decay.js';

/** Decayed successes and failures as of `at`. `streak` counts failures since the last success and does not decay. */
export interface TrackRecord {
  success: number;
  failure: number;
  streak: number;
  at: Millis;
  /** Which streak this is, so that what is taken back later is only taken from its own. */
  row: number;
  /** What is left of an experience from the record's beginning: how much one has decayed since any other moment follows. */
  left: number;
  /** Whose failure was the last to count. */
  jobId: string;
}

export const emptyRecord = (): TrackRecord => ({
  success: 0,
  failure: 0,
  streak: 0,
  at: 0,
  row: 0,
  left: 1,
  jobId: '',
});

/** What one failure counted in a record: enough to take it back. */
export interface Charge {
  readonly weight: number;
  readonly row: number;
  readonly left: number;
}

/** Where a part of a job first failed with a class, and what its node was charged for that. */
export interface Blame {
  readonly class: FailureClass;
  readonly nodeId: string;
  readonly charges: readonly NodeCharge[];
  /** It was seen on another node too. */
  readonly own: boolean;
}

/** In the node's record of all work, and in that of the job's application. */
export interface NodeCharge {
  readonly node: Charge | undefined;
  readonly application: Charge | undefined;
}

/** The outage of a node that is offline, if it lost anything by it: counted for this part of this job. */
export interface Outage {
  readonly counted: boolean;
  readonly jobId: string;
  readonly partition: number;
}

export const noOutage = (): Outage => ({ counted: false, jobId: '', partition: 0 });

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
  record.row += 1;
};

/** What a job fails again where its failure was the last to count says nothing new of the node: nothing is charged. */
export const recordFailure = (record: TrackRecord, weight: number, jobId: string, at: Millis): Charge | undefined => {
  if (weight === 0 || record.jobId === jobId) return undefined;
  ageTo(record, at);
  record.failure += weight;
  record.streak += weight;
  record.jobId = jobId;
  return { weight, row: record.row, left: record.left };
};

/** Leaves the record as if the job's failure had never counted. */
export const takeBack = (record: TrackRecord, { weight, row, left }: Charge, jobId: string): void => {
  record.failure = Math.max(0, record.failure - (weight * record.left) / left);
  if (record.row === row) record.streak = Math.max(0, record.streak - weight);
  if (record.jobId === jobId) record.jobId = '';
};

/** Twenty years of failures; what is older has no weight left, and a quotient of two such must be a number. */
const LEAST_LEFT = 2 ** -1000;

const ageTo = (record: TrackRecord, at: Millis): void => {
  const left = decay(at - record.at);
  record.success *= left;
  record.failure *= left;
  if (record.at > 0) record.left = Math.max(LEAST_LEFT, record.left * left);
  record.at = Math.max(record.at, at);
};
