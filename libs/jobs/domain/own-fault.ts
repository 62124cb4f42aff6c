import type { Instant } from '#kernel';
import { isEndless } from './job-spec.js';
import { FRESH_START_SECONDS } from './retry.js';
import type { Ending, Execution, JobState } from './state.js';
import { secondsRun } from './timeouts.js';

/**
 * Nodes on which tries of this partition have failed with the class of this ending, since one of them did well; this try's own
 * too. From two on the class counts against the job.
 */
export const nodesThatSaw = (job: JobState, execution: Execution, ending: Ending, at: Instant): ReadonlySet<string> => {
  const nodes = new Set<string>();
  for (const one of Object.values(job.executions)) {
    if (one.partition !== execution.partition) continue;
    if (didWell(job, one, at)) nodes.clear();
    if (one.failure?.class === ending.class) nodes.add(one.nodeId);
  }
  return nodes.add(execution.nodeId);
};

/** A try of an endless job does well by working for long. */
const didWell = ({ spec }: JobState, execution: Execution, at: Instant): boolean =>
  execution.state === 'succeeded' ||
  (spec !== undefined && isEndless(spec.type) && secondsRun(execution, execution.endedAt ?? at) >= FRESH_START_SECONDS);
