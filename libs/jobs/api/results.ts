import type { ResultView } from '#contracts';
import { liveExecutions } from '../domain/state.js';
import type { JobState } from '../domain/state.js';

export interface Results {
  readonly items: readonly ResultView[];
  readonly next: null;
  /** Tries that are not over. */
  readonly running: number;
}

/** What the ended tries of a job left behind, whatever way they ended: a failed or stopped one keeps what it had stored. */
export const resultsOf = (job: JobState): Results => {
  const ended = Object.values(job.executions).filter(({ endedAt }) => endedAt !== undefined);
  const items = ended.map((one) => ({
    executionId: one.executionId,
    partition: one.partition,
    attempt: one.attempt,
    nodeId: one.nodeId,
    state: one.state,
    startedAt: one.startedAt ?? null,
    endedAt: one.endedAt ?? null,
    exitCode: one.exitCode ?? null,
    failure: one.failure ?? null,
    artifacts: one.artifacts,
    consumption: one.consumption ?? null,
  }));
  return { items, next: null, running: liveExecutions(job).length };
};
