import { toInstant } from '#kernel';
import type { Clock } from '#kernel';
import { jobIdOfExecution, jobStream } from '#jobs';
import type { JobCommand, JobState, StopCause } from '#jobs';
import type { Commands, SchedulingLog } from '../ports.js';
import type { ClusterView } from '../view/cluster-view.js';

export interface EmptyNodeParts {
  readonly view: ClusterView;
  readonly jobs: Commands<JobCommand, JobState>;
  readonly clock: Clock;
  readonly log: SchedulingLog;
}

/** Why a node is to be empty; `actor` is who records it. */
export interface Emptying {
  readonly cause: StopCause;
  readonly reason: string;
  readonly actor: string;
}

/** Asks the jobs of all that is on a node to take it off; answers whether all could be asked. */
export const emptyNode = async (
  { view, jobs, clock, log }: EmptyNodeParts,
  nodeId: string,
  { cause, reason, actor }: Emptying,
): Promise<boolean> => {
  const left = [...(view.cluster.live.get(nodeId)?.values() ?? [])].filter(({ stopRequested }) => !stopRequested);
  const asked = await Promise.allSettled(
    left.map(({ executionId }) => {
      const command: JobCommand = { type: 'StopExecution', executionId, cause, reason, at: toInstant(clock.now()) };
      return jobs.handle(jobStream(jobIdOfExecution(executionId)), command, { actor });
    }),
  );
  const failed = asked.find((one) => one.status === 'rejected');
  if (failed)
    log.warn({ nodeId, err: failed.reason as unknown }, 'not all work was asked off a node, it is tried again');
  return !failed;
};
