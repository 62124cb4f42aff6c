/* As the contexts name their streams; pure parts borrow types only, and names of streams never change. */

export const JOB_STREAM_PREFIX = 'job-';
export const NODE_STREAM_PREFIX = 'node-';
export const PROJECT_STREAM_PREFIX = 'project-';
