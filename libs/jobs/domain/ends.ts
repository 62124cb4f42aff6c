import type { Instant } from '#kernel';
import type { JobEvent, JobFailed, JobRequeued } from './events.js';
import { afterFailure, afterReturn } from './retry.js';
import type { RetryStrategy } from './retry.js';
import { liveExecutions } from './state.js';
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
  return onward(job, execution, afterFailure(job.spec, partitionOf(job, execution), execution, ending, at, strategies));
};

/** What follows when a reservation came back before it ran, or a try was stopped for the system's own reasons. */
export const afterReturned = (job: JobState, execution: Execution, ending: Ending, at: Instant): JobEvent[] => {
  if (job.ended) return [];
  if (job.cancelRequested !== undefined) return cancelledIfLast(job, execution, at);
  return onward(job, execution, afterReturn(partitionOf(job, execution), execution, ending, at));
};

const onward = (job: JobState, execution: Execution, next: JobRequeued | JobFailed): JobEvent[] => {
  if (next.type === 'JobRequeued') return [next];
  return [...endUnconfirmed(job, 'the job failed', next.data.at, execution.executionId), next];
};

const partitionOf = (job: JobState, execution: Execution): Partition =>
  job.partitions[execution.partition] ?? { state: 'waiting', failures: 0, returned: 0 };
