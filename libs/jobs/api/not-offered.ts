import type { ProblemItem } from '#contracts';
import type { JobSpec } from '../domain/job-spec.js';

/**
 * What a job file can say and this version cannot do. It is refused: a job that runs before the one it depends on would be
 * worse than none.
 */
export const notOffered = (spec: JobSpec): ProblemItem[] => {
  const items: ProblemItem[] = [];
  if (spec.dependsOn.length > 0) {
    items.push({
      pointer: '/dependsOn',
      code: 'NOT_ALLOWED',
      message: 'is not offered yet; submit the job when the other has ended',
    });
  }
  return items;
};
