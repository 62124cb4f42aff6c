import { plusSeconds } from '#kernel';
import type { Instant } from '#kernel';
import type { JobFailed, JobRequeued, PartitionFailed } from './events.js';
import { hasTargets, isEndless } from './job-spec.js';
import type { JobSpec, JobType, RetryPolicy } from './job-spec.js';
import { withLastError } from './last-error.js';
import { isShortage, memoryAfter } from './memory-retry.js';
import type { Ending, Execution, Partition } from './state.js';
import { secondsRun } from './timeouts.js';

/** What becomes of a partition whose execution is over: it waits again, or it is given up, with its job or alone. */
export type Onward = JobRequeued | PartitionFailed | JobFailed;

/**
 * Reservations of one partition that may come back unused before it is given up; of a service, without a run between them. A
 * daemon's are never too many: that its node returns them says nothing of the others.
 */
export const MOST_RETURNS = 100;

/** Seconds that a job leaves out a node which did not confirm, or declined. */
export const EXCLUDED_SECONDS = 60;

/**
 * Seconds to wait after the `failures`-th failure (from 1): constant, or doubling from `interval` up to `maxInterval`. So
 * `{attempts: 3, interval: 10, exponential, maxInterval: 60}` waits 10, then 20, and the third failure ends the job.
 */
export const backoffSeconds = (policy: RetryPolicy, failures: number): number =>
  policy.backoff === 'constant'
    ? policy.interval
    : Math.min(policy.maxInterval, policy.interval * 2 ** Math.min(failures - 1, 30));

/** A try that ran and did not succeed, as a strategy sees it. */
export interface FailedTry {
  readonly spec: JobSpec;
  /** Tries of this partition that failed (of an endless job: in a row), this one too. */
  readonly failures: number;
  /** Those of them that ran out of memory, this one too. */
  readonly shortages: number;
  readonly nodeId: string;
  /** Nodes, this one too, on which tries of this partition failed with this class. From two on it is the job's own fault. */
  readonly seenOn: number;
  /** Its class, code and message. */
  readonly error: Ending;
}

/** Seconds after which a try of an endless job is taken to have worked: failing then begins the count of failures anew. */
export const FRESH_START_SECONDS = 600;

/** The end of a try that the job itself asked for by `timeouts.run`: of an endless job as good as any. */
const isPlannedEnd = (type: JobType, failure: Ending): boolean => isEndless(type) && failure.class === 'timeout';

/**
 * How many tries of a partition failed one after the other, when this one has ended; it ended well when `failure` is absent. A
 * job that ends counts all of them.
 */
export const failuresInARow = (
  type: JobType,
  partition: Pick<Partition, 'failures'>,
  execution: Execution,
  failure: Ending | undefined,
  at: Instant,
): number => {
  if (!isEndless(type)) return failure ? partition.failures + 1 : partition.failures;
  if (!failure || isPlannedEnd(type, failure)) return 0;
  return secondsRun(execution, at) >= FRESH_START_SECONDS ? 1 : partition.failures + 1;
};

/** Whether there may be another try. Strategies form a chain: all must say yes. */
export type RetryStrategy = (failed: FailedTry) => boolean;

/** With `retry.memory` a shortage of memory may be tried again whatever `on` says, as long as there is more to ask for. */
const asksForMore = ({ spec, shortages, error }: FailedTry): boolean =>
  isShortage(error) && memoryAfter(spec, shortages) > memoryAfter(spec, shortages - 1);

/** A daemon is tried again whatever happens, for its nodes come and go. */
const allowsClass: RetryStrategy = (failed) => {
  const { spec, error } = failed;
  const always = spec.type === 'daemon' || isPlannedEnd(spec.type, error);
  return always || spec.retry.on.includes(error.class) || asksForMore(failed);
};
const hasAttemptsLeft: RetryStrategy = ({ spec, failures }) => spec.type === 'daemon' || failures < spec.retry.attempts;

/** A node that was lost with a part of an `ops` job may have done it: the answer is that nobody knows. */
const keepsItsNode: RetryStrategy = ({ spec, error }) => spec.type !== 'ops' || error.class !== 'node-lost';

/** What the job itself asks for. */
export const JOB_POLICY: readonly RetryStrategy[] = [allowsClass, hasAttemptsLeft, keepsItsNode];

/** The switch that stops all retries: failures are told apart as ever, and each ends its job. */
export const noRetries: RetryStrategy = () => false;

/** A partition's try that failed, with what came before it. */
export interface Failure {
  readonly partition: Partition;
  readonly execution: Execution;
  readonly ending: Ending;
  readonly seenOn: number;
}

/**
 * After a try that ran: back to the queue, elsewhere first unless it has its own node or the same came about on another node
 * before; or the end with this last real error, of the job, or of the partition alone where each has its node.
 */
export const afterFailure = (
  spec: JobSpec,
  { partition, execution, ending, seenOn }: Failure,
  at: Instant,
  strategies: readonly RetryStrategy[],
): Onward => {
  const failures = failuresInARow(spec.type, partition, execution, ending, at);
  const shortages = (partition.shortages ?? 0) + (isShortage(ending) ? 1 : 0);
  const { partition: index, nodeId } = execution;
  const failed: FailedTry = { spec, failures, shortages, nodeId, seenOn, error: ending };
  if (!strategies.every((allows) => allows(failed))) return givenUp(spec, index, withNodes(ending, seenOn), at);
  const notBefore = plusSeconds(at, backoffSeconds(spec.retry, Math.max(1, failures)));
  const avoid = hasTargets(spec.type) || failures === 0 ? {} : { avoid: nodeId };
  const where = seenOn > 1 ? { seenOn } : avoid;
  const more = spec.retry.memory && isShortage(ending) ? { memory: memoryAfter(spec, shortages) } : {};
  const data = { partition: index, cause: ending.class, message: ending.message, notBefore, ...where, ...more, at };
  return { type: 'JobRequeued', data };
};

const withNodes = (ending: Ending, seenOn: number): Ending =>
  seenOn > 1
    ? { ...ending, message: `${ending.message} (${ending.class} was seen on ${String(seenOn)} nodes)` }
    : ending;

const givenUp = (spec: JobSpec, partition: number, ending: Ending, at: Instant): Onward =>
  hasTargets(spec.type)
    ? { type: 'PartitionFailed', data: { partition, ...ending, at } }
    : { type: 'JobFailed', data: { ...ending, at } };

/** After the good end of an execution of an endless job: another in its place. */
export const afterEnded = (spec: JobSpec, { partition }: Execution, exitCode: number, at: Instant): JobRequeued => {
  const message = `it ended with exit code ${String(exitCode)}, and a ${spec.type} goes on`;
  const notBefore = plusSeconds(at, backoffSeconds(spec.retry, 1));
  return { type: 'JobRequeued', data: { partition, cause: 'ended', message, notBefore, at } };
};

/** After a reservation that came back unused: at once again, but not on that node for a while. */
export const afterReturn = (
  spec: JobSpec,
  partition: Partition,
  execution: Execution,
  ending: Ending,
  at: Instant,
): Onward => {
  if (spec.type === 'ops' && ending.class === 'node-lost') return givenUp(spec, execution.partition, ending, at);
  if (spec.type !== 'daemon' && partition.returned + 1 >= MOST_RETURNS) {
    const message = `${String(MOST_RETURNS)} reservations came back unused, the last one: ${ending.message}`;
    const end = withLastError({ class: ending.class, code: 'placement-tries', message }, partition);
    return givenUp(spec, execution.partition, end, at);
  }
  const exclude = { nodeId: execution.nodeId, until: plusSeconds(at, EXCLUDED_SECONDS) };
  const { partition: index } = execution;
  const data = { partition: index, cause: ending.class, message: ending.message, notBefore: at, exclude, at };
  return { type: 'JobRequeued', data };
};
