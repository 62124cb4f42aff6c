export { ExecuteJob, JOB_COMMANDS } from './execute-job.js';
export type { JobCommands } from './execute-job.js';
export { JobsWriteModule } from './jobs-write.module.js';
