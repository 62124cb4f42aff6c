export type * from './domain/decision.js';
export type * from './domain/events.js';
export type * from './domain/job-spec.js';
export { executionIdOf, JOB_STREAM_PREFIX, jobIdOfExecution, jobStream } from './domain/events.js';
export { FACTORS, FAILURE_CLASSES } from './domain/job-spec.js';
