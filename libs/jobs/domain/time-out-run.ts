import { accept } from '#kernel';
import type { Decision } from '#kernel';
import type { TimeOutExecution } from './commands.js';
import { afterFailed } from './ends.js';
import type { JobEvent } from './events.js';
import type { RetryStrategy } from './retry.js';
import type { JobState } from './state.js';
import { runDeadline, runTimedOut } from './timeouts.js';

/**
 * A run over its time, of which its node has not said that it is over. That it timed out is recorded now, and so is the end of a
 * job that has no other try. Whatever else follows (another try, the capacity for others) waits until the node has confirmed
 * the end, or is lost: the task may still run there.
 */
export const timeOutRun = (
  { executionId, grace, at }: TimeOutExecution,
  job: JobState,
  strategies: readonly RetryStrategy[],
): Decision<JobEvent> => {
  const execution = job.executions[executionId];
  const limit = job.spec?.timeouts.run;
  // What was asked to stop by its user is left to that.
  if (!execution || !job.spec || limit === undefined || job.ended || job.cancelRequested !== undefined) return accept();
  const deadline = runDeadline(job.spec, execution, grace);
  if (deadline === undefined || at < deadline) return accept();
  const timedOut: JobEvent = { type: 'ExecutionTimedOut', data: { executionId, limit, at } };
  const then = afterFailed(job, execution, runTimedOut(limit), at, strategies);
  return accept(timedOut, ...(then.every(endsNow) ? then : []));
};

/** A part with a node of its own is given up when that has confirmed the end: its job has others, and goes on meanwhile. */
const endsNow = ({ type }: JobEvent): boolean => type === 'JobFailed' || type === 'ExecutionCancelled';
