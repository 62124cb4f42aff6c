import { plusSeconds, toMillis } from '#kernel';
import type { Instant } from '#kernel';
import { hasTargets } from './job-spec.js';
import type { JobSpec } from './job-spec.js';
import type { Ending, Execution, JobState } from './state.js';

/* The bounds on a job's time (S-10): how long a part of it waits, how long a try runs, and how long all may take. */

/** What the bounds are reckoned from: the job's own state, or what the cluster knows of it. */
export interface TimedJob {
  readonly spec: JobSpec | undefined;
  readonly submittedAt: Instant;
  /** It waits for other jobs and is in no queue; `queuedAt` is when it first entered one. */
  readonly blocked: boolean;
  readonly queuedAt: Instant;
  readonly paused: boolean;
  /** When the job was last resumed, where that is known; without it a moment may come out too early. */
  readonly resumedAt?: Instant | undefined;
  readonly partitions: readonly { readonly state: string; readonly notBefore?: Instant | undefined }[];
}

interface Bound {
  readonly at: Instant;
  readonly ending: Ending;
}

const bound = (from: Instant, seconds: number, code: string, where: string): Bound => ({
  at: plusSeconds(from, seconds),
  ending: { class: 'timeout', code, message: `timed out after ${String(seconds)} s ${where}` },
});

const totalBound = ({ spec, submittedAt }: TimedJob): Bound | undefined =>
  spec?.timeouts.total === undefined
    ? undefined
    : bound(submittedAt, spec.timeouts.total, 'total-timeout', 'since its submission');

/**
 * Of the part that waits longest; of the job itself until its nodes are found. A daemon waits for each node as long as it
 * takes. It entered the queue when the job was submitted, when the job's dependencies were met, when its backoff was over or
 * when the job was resumed, whichever came last; a job that is held or blocked is not in the queue.
 */
const queueBound = (job: TimedJob): Bound | undefined => {
  const { spec, blocked, paused, partitions } = job;
  if (paused || blocked || spec?.timeouts.queue === undefined || spec.type === 'daemon') return undefined;
  const waiting = partitions.filter(({ state }) => state === 'waiting').map((partition) => queuedAt(job, partition));
  const first = (partitions.length === 0 ? [queuedAt(job, {})] : waiting).reduce<Instant | undefined>(
    (least, at) => (least !== undefined && least < at ? least : at),
    undefined,
  );
  return first === undefined ? undefined : bound(first, spec.timeouts.queue, 'queue-timeout', 'in the queue');
};

const queuedAt = (
  { queuedAt: first, resumedAt = '' }: TimedJob,
  { notBefore = first }: { readonly notBefore?: Instant | undefined },
): Instant => (notBefore > resumedAt ? notBefore : resumedAt);

/** The partitions of an `ops` job that wait for their nodes for longer than they may. */
export const targetsQueuedTooLong = (job: JobState, at: Instant): number[] => {
  const { spec } = job;
  if (!spec || !hasTargets(spec.type) || spec.timeouts.queue === undefined) return [];
  const seconds = spec.timeouts.queue;
  return job.partitions.flatMap((partition, index) =>
    partition.state === 'waiting' && plusSeconds(queuedAt(job, partition), seconds) <= at ? [index] : [],
  );
};

/** The bound on the job that is reached first as things stand; undefined when it has none. */
const nextBound = (job: TimedJob): Bound | undefined => {
  const [total, queue] = [totalBound(job), queueBound(job)];
  return queue !== undefined && (total === undefined || queue.at < total.at) ? queue : total;
};

/** When the job's next bound is reached, if nothing happens until then. */
export const nextTimeout = (job: TimedJob): Instant | undefined => nextBound(job)?.at;

/** How a job ends whose bound was reached by now. One that has ended, or that its user gave up, is left to that. */
export const timedOut = (job: JobState, at: Instant): Ending | undefined => {
  if (job.ended || job.cancelRequested !== undefined) return undefined;
  const next = nextBound(job);
  return next !== undefined && next.at <= at ? next.ending : undefined;
};

/**
 * When a try has run for `timeouts.run` and `grace` seconds more; undefined when it does not run, has no such bound, or was seen
 * to be over it already. The time in which it stood still on its node does not count.
 */
export const runDeadline = (spec: JobSpec, execution: Execution, grace: number): Instant | undefined => {
  const { state, startedAt, pausedFor = 0, timedOut } = execution;
  if (timedOut || state !== 'running' || startedAt === undefined || spec.timeouts.run === undefined) return undefined;
  return plusSeconds(startedAt, spec.timeouts.run + grace + pausedFor);
};

/** How a try ends that ran for longer than its limit, whatever its node may say of it. */
export const runTimedOut = (limit: number): Ending => ({
  class: 'timeout',
  code: 'run-timeout',
  message: `timed out after ${String(limit)} s`,
});

/** Seconds that a try has worked by `at`; 0 for one that never started. */
export const secondsRun = (execution: Execution, at: Instant): number =>
  execution.startedAt === undefined
    ? 0
    : (toMillis(at) - toMillis(execution.startedAt)) / 1000 - stoodStill(execution, at);

/** Seconds that a try has stood still, when it goes on at `at`. */
export const stoodStill = ({ pausedSince, pausedFor = 0 }: Execution, at: Instant): number =>
  pausedSince === undefined ? pausedFor : pausedFor + (toMillis(at) - toMillis(pausedSince)) / 1000;
