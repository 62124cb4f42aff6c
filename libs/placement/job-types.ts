import type { JobType } from '#jobs';

/* What the types of jobs mean for placement, which takes nothing but types from their library. */

/** Whether each partition belongs to one node. */
export const hasTargets = (type: JobType): boolean => type === 'ops' || type === 'daemon';

/** Whether what ends of the job is replaced. */
export const isEndless = (type: JobType): boolean => type === 'service' || type === 'daemon';
