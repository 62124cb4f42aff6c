import { plusSeconds } from '#kernel';
import type { Instant } from '#kernel';
import type { JobFailed, JobRequeued } from './events.js';
import type { JobSpec, RetryPolicy } from './job-spec.js';
import { isShortage, memoryAfter } from './memory-retry.js';
import type { Ending, Execution, Partition } from './state.js';

/** Reservations of one partition that may come back unused before the job is given up. */
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
  /** Tries of this partition that failed, this one too. */
  readonly failures: number;
  /** Those of them that ran out of memory, this one too. */
  readonly shortages: number;
  readonly nodeId: string;
  /** Its class, code and message. */
  readonly error: Ending;
}

/** Whether there may be another try. Strategies form a chain: all must say yes. */
export type RetryStrategy = (failed: FailedTry) => boolean;

/** With `retry.memory` a shortage of memory may be tried again whatever `on` says, as long as there is more to ask for. */
const asksForMore = ({ spec, shortages, error }: FailedTry): boolean =>
  isShortage(error) && memoryAfter(spec, shortages) > memoryAfter(spec, shortages - 1);

const allowsClass: RetryStrategy = (failed) => failed.spec.retry.on.includes(failed.error.class) || asksForMore(failed);
const hasAttemptsLeft: RetryStrategy = ({ spec, failures }) => failures < spec.retry.attempts;

/** What the job itself asks for. */
export const JOB_POLICY: readonly RetryStrategy[] = [allowsClass, hasAttemptsLeft];

/** The switch that stops all retries: failures are told apart as ever, and each ends its job. */
export const noRetries: RetryStrategy = () => false;

/** After a try that ran: back to the queue, elsewhere first, or the end of the job with this last real error. */
export const afterFailure = (
  spec: JobSpec,
  partition: Partition,
  execution: Execution,
  ending: Ending,
  at: Instant,
  strategies: readonly RetryStrategy[],
): JobRequeued | JobFailed => {
  const failures = partition.failures + 1;
  const shortages = (partition.shortages ?? 0) + (isShortage(ending) ? 1 : 0);
  const failed: FailedTry = { spec, failures, shortages, nodeId: execution.nodeId, error: ending };
  if (!strategies.every((allows) => allows(failed))) return { type: 'JobFailed', data: { ...ending, at } };
  const { partition: index, nodeId } = execution;
  const notBefore = plusSeconds(at, backoffSeconds(spec.retry, failures));
  const more = spec.retry.memory && isShortage(ending) ? { memory: memoryAfter(spec, shortages) } : {};
  const data = {
    partition: index,
    cause: ending.class,
    message: ending.message,
    notBefore,
    avoid: nodeId,
    ...more,
    at,
  };
  return { type: 'JobRequeued', data };
};

/** After a reservation that came back unused: at once again, but not on that node for a while. */
export const afterReturn = (
  partition: Partition,
  execution: Execution,
  ending: Ending,
  at: Instant,
): JobRequeued | JobFailed => {
  if (partition.returned + 1 >= MOST_RETURNS) {
    const { lastError } = partition;
    const real = lastError ? `; the last error of a run was ${lastError.class}: ${lastError.message}` : '';
    const message = `${String(MOST_RETURNS)} reservations came back unused, the last one: ${ending.message}${real}`;
    return { type: 'JobFailed', data: { class: ending.class, code: 'placement-tries', message, at } };
  }
  const exclude = { nodeId: execution.nodeId, until: plusSeconds(at, EXCLUDED_SECONDS) };
  const { partition: index } = execution;
  const data = { partition: index, cause: ending.class, message: ending.message, notBefore: at, exclude, at };
  return { type: 'JobRequeued', data };
};
