import type { Instant } from '#kernel';

/** A job's place among those of its project: higher priority first, then the one submitted earlier, then by id. */
export interface Turn {
  readonly jobId: string;
  readonly project: string;
  readonly priority: number;
  readonly submittedAt: Instant;
}

export const isBefore = (left: Turn, right: Turn): boolean => {
  if (left.priority !== right.priority) return left.priority > right.priority;
  if (left.submittedAt !== right.submittedAt) return left.submittedAt < right.submittedAt;
  return left.jobId < right.jobId;
};
