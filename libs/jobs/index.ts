export { jobDecider, jobDeciderWith } from './domain/decide.js';
export { noRetries } from './domain/retry.js';
export type { FailedTry, RetryStrategy } from './domain/retry.js';
export type * from './domain/commands.js';
export { impossible, isMet } from './domain/dependencies.js';
export { parentsRead, pinnedInputs } from './domain/left-behind.js';
export { deferralKey } from './domain/decision.js';
export type * from './domain/decision.js';
export type * from './domain/events.js';
export { executionIdOf, JOB_STREAM_PREFIX, jobIdOfExecution, jobStream } from './domain/events.js';
export type * from './domain/job-spec.js';
export { FACTORS, FAILURE_CLASSES, hasTargets, isEndless, itemsOfPartition } from './domain/job-spec.js';
export { answerReport } from './domain/report.js';
export { hasNoNode } from './domain/targets.js';
export { nextTimeout, runDeadline } from './domain/timeouts.js';
export { isLive, jobStateName, liveExecutions } from './domain/state.js';
export type {
  Ending,
  Execution,
  ExecutionStateName,
  Exclusion,
  JobState,
  JobStateName,
  Partition,
  PartitionStateName,
} from './domain/state.js';
