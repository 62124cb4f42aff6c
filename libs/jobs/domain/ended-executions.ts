import { isEndless } from './job-spec.js';
import { isLive } from './state.js';
import type { JobState } from './state.js';

/**
 * Ended executions that the state of an endless job keeps of each partition. More than enough for what is decided from them:
 * on which nodes the latest tries failed alike, and what their nodes are told when they report again. All of them are in the
 * job's stream and in its read models for ever.
 */
export const ENDED_KEPT = 10;

/** Claims that were fenced off and are known as such; one that is older can be no part of a plan any more. */
export const ABANDONED_KEPT = 100;

/** Forgets the oldest ended executions of a partition, for what never ends would have ever more of them. */
export const withoutOldest = (job: JobState, partition: number): JobState => {
  if (!job.spec || !isEndless(job.spec.type)) return job;
  const ended = Object.values(job.executions).filter((one) => one.partition === partition && !isLive(one));
  if (ended.length <= ENDED_KEPT) return job;
  const oldest = new Set(ended.slice(0, ended.length - ENDED_KEPT).map(({ executionId }) => executionId));
  const kept = Object.entries(job.executions).filter(([executionId]) => !oldest.has(executionId));
  return { ...job, executions: Object.fromEntries(kept) };
};
