import { toMillis } from '#kernel';
import { EPOCH } from '#testing';
import type { Evaluation } from '../broker/evaluation.js';

/** An evaluation of the job `j-<id>`, unless said otherwise. */
export const anEvaluation = (id: string, change: Partial<Evaluation> = {}): Evaluation => ({
  id,
  jobId: `j-${id}`,
  project: 'demo',
  type: 'batch',
  priority: 50,
  trigger: 'JobSubmitted',
  preempts: false,
  createdAt: toMillis(EPOCH),
  modifiedAt: toMillis(EPOCH),
  ...change,
});
