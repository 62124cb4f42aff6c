import type { JobSpec } from '#jobs';
import { toMillis } from '#kernel';
import type { Millis } from '#kernel';
import type { ClusterState, Held } from './cluster/state.js';
import { longestRun } from './filters/maintenance.js';
import { isEndless } from './job-types.js';

/** How long a run is expected to take, or may take, in milliseconds; undefined when nobody knows. */
export const expectedRun = (spec: JobSpec): Millis | undefined => {
  const seconds = isEndless(spec.type) ? undefined : longestRun(spec);
  return seconds === undefined ? undefined : seconds * 1000;
};

/**
 * When a claim is expected to be given back, undefined when nobody knows. What has not started counts as if it had at
 * `startsAt`, by default when it was reserved.
 */
export const endOf = ({ jobId, executionId }: Held, { jobs }: ClusterState, startsAt?: Millis): Millis | undefined => {
  const job = jobs.get(jobId);
  const run = job && expectedRun(job.spec);
  if (run === undefined) return undefined;
  const execution = job?.executions.get(executionId);
  const startedAt = execution?.startedAt ?? (startsAt === undefined ? execution?.reservedAt : undefined);
  const start = startedAt === undefined ? startsAt : toMillis(startedAt);
  return start === undefined ? undefined : start + run;
};
