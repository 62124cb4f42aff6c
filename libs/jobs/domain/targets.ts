import { accept, reject } from '#kernel';
import type { Decision, Instant } from '#kernel';
import type { ChangeTargets } from './commands.js';
import type { JobEvent, Target } from './events.js';
import { hasTargets } from './job-spec.js';
import { jobStateName, liveExecutions } from './state.js';
import type { JobState, Partition } from './state.js';

/* Jobs with targets: which partition is on which node. */

const NO_LONGER_MATCHES = 'the job may not or cannot run on this node any more';

/**
 * Gives nodes their partitions, and takes them away with what is live of them. The targets of an `ops` job are fixed with the
 * first: it runs on the nodes that matched then.
 */
export const changeTargets = (command: ChangeTargets, job: JobState): Decision<JobEvent> => {
  const { evaluationId, position, algorithm, at } = command;
  if (job.ended) {
    return reject('JOB_TERMINAL', `the job is ${jobStateName(job)} already`, { state: jobStateName(job) });
  }
  if (job.cancelRequested !== undefined) return reject('DECISION_OUTDATED', 'the job is being cancelled');
  if (job.blocked) return reject('DECISION_OUTDATED', 'the job waits for others');
  const fixed = job.spec?.type === 'ops' && job.partitions.length > 0;
  if (!job.spec || !hasTargets(job.spec.type) || fixed) return accept();
  const removed = removedBy(job, command.removed);
  const added = addedBy(job, command.added);
  if (removed.length === 0 && added.length === 0) return accept();
  const changed: JobEvent = { type: 'TargetsChanged', data: { evaluationId, position, algorithm, added, removed, at } };
  return accept(changed, ...stopsOf(job, removed, at));
};

/** Whether the partition is its node's now. */
const belongs = ({ state, leaving = false }: Pick<Partition, 'state'> & { readonly leaving?: boolean }): boolean =>
  state !== 'removed' && !leaving;

/**
 * Whether a job with targets has no node at all: then it is decided for as a whole, under the number that its next part
 * would have.
 */
export const hasNoNode = (partitions: readonly Parameters<typeof belongs>[0][]): boolean => !partitions.some(belongs);

const removedBy = (job: JobState, nodeIds: readonly string[]): number[] => {
  const gone = new Set(nodeIds);
  return job.partitions.flatMap((partition, index) =>
    partition.target !== undefined && gone.has(partition.target) && belongs(partition) ? [index] : [],
  );
};

/** A node that had a partition before gets it again, and the others get the next numbers. */
const addedBy = (job: JobState, nodeIds: readonly string[]): Target[] => {
  const known = new Map(job.partitions.map((partition, index) => [partition.target, { partition, index }]));
  let next = job.partitions.length;
  return [...new Set(nodeIds)].flatMap((nodeId) => {
    const before = known.get(nodeId);
    if (!before) return [{ partition: next++, nodeId }];
    return belongs(before.partition) ? [] : [{ partition: before.index, nodeId }];
  });
};

/** What no node works on yet ends at once; the rest when its node says that it stopped, or was lost. */
const stopsOf = (job: JobState, removed: readonly number[], at: Instant): JobEvent[] => {
  const reason = NO_LONGER_MATCHES;
  return liveExecutions(job)
    .filter(({ partition, stopRequested }) => removed.includes(partition) && stopRequested === undefined)
    .map(({ executionId, state }) =>
      state === 'reserved'
        ? { type: 'ExecutionCancelled', data: { executionId, reason, at } }
        : { type: 'ExecutionStopRequested', data: { executionId, cause: 'no-longer-matches', reason, at } },
    );
};
