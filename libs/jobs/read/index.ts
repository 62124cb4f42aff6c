import { decisionEntity, executionEntity, jobEntity, jobTimelineEntity } from './tables.js';

export { JobQueries } from './job-queries.js';
export type { JobDetails, JobFilter, JobListRequest, JobSummary, QueueEntry } from './job-queries.js';
export { jobsProjection } from './jobs.projection.js';
export type { DecisionRow, ExecutionRow, JobRow, JobTimelineRow } from './tables.js';

/** What a data source must know to answer `JobQueries`. */
export const jobEntities = [jobEntity, executionEntity, jobTimelineEntity, decisionEntity];
