import { unreachable } from '#kernel';
import type { Instant } from '#kernel';
import type { ExecutionSucceeded, JobEvent, PartitionFailed } from './events.js';
import { isEndless } from './job-spec.js';
import { nodesThatSaw } from './own-fault.js';
import { afterEnded, afterFailure, afterReturn } from './retry.js';
import type { Onward, RetryStrategy } from './retry.js';
import { liveExecutions, NEW_PARTITION } from './state.js';
import type { Ending, Execution, JobState, Partition } from './state.js';

/* What the end of one execution means for its job. */

/** Reservations that nobody confirmed end at once: no node works on them, and none may begin. */
export const endUnconfirmed = (job: JobState, reason: string, at: Instant, except?: string): JobEvent[] =>
  liveExecutions(job)
    .filter(({ state, executionId }) => state === 'reserved' && executionId !== except)
    .map(({ executionId }) => ({ type: 'ExecutionCancelled', data: { executionId, reason, at } }));

/** The job's cancellation is complete when the last live execution has ended, whatever way. */
export const cancelledIfLast = (job: JobState, execution: Execution, at: Instant): JobEvent[] => {
  const others = liveExecutions(job).some(({ executionId }) => executionId !== execution.executionId);
  if (others || job.cancelRequested === undefined) return [];
  return [{ type: 'JobCancelled', data: { reason: job.cancelRequested, at } }];
};

/** What follows when a try that ran, or may have run, has ended without success. */
export const afterFailed = (
  job: JobState,
  execution: Execution,
  ending: Ending,
  at: Instant,
  strategies: readonly RetryStrategy[],
): JobEvent[] => {
  if (job.ended || !job.spec) return [];
  if (job.cancelRequested !== undefined) return cancelledIfLast(job, execution, at);
  const partition = partitionOf(job, execution);
  if (partition.leaving) return [];
  const seenOn = nodesThatSaw(job, execution, ending, at).size;
  return onward(job, execution, afterFailure(job.spec, { partition, execution, ending, seenOn }, at, strategies));
};

/** What follows when a reservation came back before it ran, or a try was stopped for the system's own reasons. */
export const afterReturned = (job: JobState, execution: Execution, ending: Ending, at: Instant): JobEvent[] => {
  if (job.ended || !job.spec) return [];
  if (job.cancelRequested !== undefined) return cancelledIfLast(job, execution, at);
  const partition = partitionOf(job, execution);
  if (partition.leaving) return [];
  return onward(job, execution, afterReturn(job.spec, partition, execution, ending, at));
};

/**
 * What follows a good end: another execution of a job that is endless; else its partition is done, and when no other is open
 * the job has ended too.
 */
export const afterSucceeded = (job: JobState, execution: Execution, data: ExecutionSucceeded['data']): JobEvent[] => {
  if (job.ended || !job.spec) return [];
  if (job.cancelRequested !== undefined) return cancelledIfLast(job, execution, data.at);
  if (!isEndless(job.spec.type)) return endIfOver(job, [{ partition: execution.partition }], data.at);
  const { leaving } = partitionOf(job, execution);
  return leaving ? [] : [afterEnded(job.spec, execution, data.exitCode, data.at)];
};

/** What should have followed the last end of an execution of the job: its own end, where that is not recorded. */
export const missedEnd = (job: JobState, at: Instant): JobEvent[] => {
  if (job.ended || liveExecutions(job).length > 0) return [];
  if (job.cancelRequested !== undefined) return [{ type: 'JobCancelled', data: { reason: job.cancelRequested, at } }];
  return job.partitions.length === 0 ? [] : endIfOver(job, [], at);
};

const onward = (job: JobState, execution: Execution, next: Onward): JobEvent[] => {
  switch (next.type) {
    case 'JobRequeued':
      return [next];
    case 'PartitionFailed':
      return giveUpPartitions(job, [next]);
    case 'JobFailed':
      return [...endUnconfirmed(job, 'the job failed', next.data.at, execution.executionId), next];
    default:
      return unreachable(next);
  }
};

/** Gives partitions up that are not live (any more), and the job with the last one that was open. At least one. */
export const giveUpPartitions = (job: JobState, failed: readonly PartitionFailed[]): JobEvent[] => {
  const [first] = failed;
  if (!first) return [];
  const over = failed.map(({ data: { at: _at, partition, ...failure } }) => ({ partition, failure }));
  return [...failed, ...endIfOver(job, over, first.data.at)];
};

/** A partition that ends now: well, when there is no failure. */
interface Over {
  readonly partition: number;
  readonly failure?: Ending;
}

/** A job that is not endless ends with the last partition that is open; it has failed when any has. */
const endIfOver = (job: JobState, now: readonly Over[], at: Instant): JobEvent[] => {
  if (!job.spec || isEndless(job.spec.type)) return [];
  const ending = new Map(now.map((over) => [over.partition, over]));
  const open = job.partitions.some(
    ({ state }, index) => !ending.has(index) && (state === 'waiting' || state === 'live'),
  );
  if (open) return [];
  const failures = job.partitions.flatMap(({ state, lastError, target = '' }, index) => {
    const failure = ending.has(index) ? ending.get(index)?.failure : state === 'failed' ? lastError : undefined;
    return failure ? [{ target, failure }] : [];
  });
  return [failures.length === 0 ? { type: 'JobCompleted', data: { at } } : failedOn(job, failures, at)];
};

const failedOn = (
  { partitions }: JobState,
  failures: readonly { readonly target: string; readonly failure: Ending }[],
  at: Instant,
): JobEvent => {
  const [first] = failures;
  const of = `${String(failures.length)} of ${String(partitions.length)} nodes failed`;
  const message = first ? `${of}; the first, ${first.target}: ${first.failure.message}` : of;
  return {
    type: 'JobFailed',
    data: { class: first?.failure.class ?? 'application', code: 'nodes-failed', message, at },
  };
};

const partitionOf = (job: JobState, execution: Execution): Partition =>
  job.partitions[execution.partition] ?? NEW_PARTITION;
