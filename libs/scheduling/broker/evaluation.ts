import { toMillis } from '#kernel';
import type { Millis } from '#kernel';
import type { JobType } from '#jobs';
import type { ClusterJob } from '#placement';

/** That a job is to be looked at, and why. Two of one ID are the same. */
export interface Evaluation {
  readonly id: string;
  readonly jobId: string;
  readonly project: string;
  readonly type: JobType;
  /** 0…100, of the job when this was made. */
  readonly priority: number;
  /** What asked for it: the type of an event, or what happened inside the control plane. */
  readonly trigger: string;
  /** Goes ahead of a retry of the same job that is delayed. */
  readonly preempts: boolean;
  /** Since when it waits, which makes its age: the job's submission, or the end of the pass that this one goes on with. */
  readonly createdAt: Millis;
  readonly modifiedAt: Millis;
  /** Not to be delivered before. */
  readonly waitUntil?: Millis;
}

export interface EvaluationRequest {
  readonly id: string;
  readonly trigger: string;
  readonly at: Millis;
  /** The job had a turn then and takes another one: whoever waited before it is next. */
  readonly goesOnFrom?: Millis;
  readonly waitUntil?: Millis;
}

/** A user's change is looked at without delay, and so is everything that failed while the store was away. */
const PREEMPTING: ReadonlySet<string> = new Set([
  'JobCancelRequested',
  'JobPaused',
  'JobPriorityChanged',
  'JobResumed',
  'StoreReturned',
]);

/** The only way to make one: project, type, priority and, but for a further turn, age are the job's, whoever asks. */
export const evaluationOf = (
  job: ClusterJob,
  { id, trigger, at, goesOnFrom, waitUntil }: EvaluationRequest,
): Evaluation => ({
  id,
  jobId: job.id,
  project: job.project,
  type: job.spec.type,
  priority: job.priority,
  trigger,
  preempts: PREEMPTING.has(trigger),
  createdAt: goesOnFrom ?? toMillis(job.submittedAt),
  modifiedAt: at,
  ...(waitUntil === undefined ? {} : { waitUntil }),
});
