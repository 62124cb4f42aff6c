import type { ResultView } from '#contracts';
import type { Artifact } from '../domain/events.js';
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

/** What a job left under a path. A try that succeeded goes before one that failed and left something too. */
export const resultAt = (job: JobState, path: string): Artifact | undefined => {
  const named = Object.values(job.executions).flatMap(({ state, artifacts }) =>
    artifacts.filter((artifact) => artifact.path === path).map((artifact) => ({ state, artifact })),
  );
  return (named.find(({ state }) => state === 'succeeded') ?? named[0])?.artifact;
};
