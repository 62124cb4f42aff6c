import type { Instant } from '#kernel';
import type { Contract } from '#nodes';
import type { Decision } from './decision.js';
import type { Artifact, Consumption, JobOutcome, ReportType } from './events.js';
import type { FailureClass, JobSpec } from './job-spec.js';

export type JobStateName =
  'blocked' | 'queued' | 'reserved' | 'running' | 'paused' | 'completed' | 'failed' | 'cancelled';

export type ExecutionStateName =
  | 'reserved'
  | 'confirmed'
  | 'preparing'
  | 'running'
  | 'paused'
  | 'publishing'
  | 'succeeded'
  | 'failed'
  | 'lost'
  | 'expired'
  | 'declined'
  | 'cancelled';

/** One try of one partition, as the job's stream tells it. */
export interface Execution {
  readonly executionId: string;
  readonly partition: number;
  readonly attempt: number;
  readonly nodeId: string;
  readonly fencingToken: number;
  readonly contract: Contract;
  readonly confirmBy: Instant;
  readonly state: ExecutionStateName;
  /** Kinds of report that were taken in: the same one again gets the same answer. */
  readonly accepted: readonly ReportType[];
  /** Kinds of report that came too late and are recorded as such. */
  readonly late: readonly ReportType[];
  /** Quarters of progress recorded, 0…4. */
  readonly quarters: number;
  readonly startedAt?: Instant;
  /** Since when it stands still on its node, and seconds that it stood still before. */
  readonly pausedSince?: Instant | undefined;
  readonly pausedFor?: number;
  readonly endedAt?: Instant;
  readonly exitCode?: number;
  readonly artifacts: readonly Artifact[];
  readonly consumption?: Consumption;
  readonly failure?: Ending;
  /** Why the system wants it off its node, if it does. */
  readonly stopRequested?: string;
  /** It ran for too long: how it ends, whatever its node says of its end. */
  readonly timedOut?: Ending;
  /** The control plane ended it: its node has yet to learn that. Of records from when it did so. */
  readonly endedBySystem?: true;
}

/**
 * `waiting` for an execution; `live` with one; `done`, never of a job that is endless; `failed` for good, `removed` with its
 * node: only of a job with targets.
 */
export type PartitionStateName = 'waiting' | 'live' | 'done' | 'failed' | 'removed';

/** One of the job's parts: `count` of them, or one for each of its targets. */
export interface Partition {
  readonly state: PartitionStateName;
  /** The one node that it may run on; absent where any will do. */
  readonly target?: string;
  /** It was removed while it is live: when that has ended, nothing follows. */
  readonly leaving?: true;
  /** Tries that ran, or may have run, whatever came of them. */
  readonly tries: number;
  /** Of these, how many failed in a row up to now; see `failuresInARow`. */
  readonly failures: number;
  /**
   * Reservations that came back before they ran, and tries that the system stopped; they cost no attempt. Of an endless
   * job, since one last ran.
   */
  readonly returned: number;
  /** The last error of a try that ran: it stays visible when later ones come back unused. */
  readonly lastError?: Ending;
  readonly notBefore?: Instant;
  /** Tries that ran out of memory, where there were any. */
  readonly shortages?: number;
  /** What its last decision said while it waits, by `deferralKey`; kept where partitions wait each for its own node. */
  readonly deferral?: string | undefined;
}

export const NEW_PARTITION: Partition = { state: 'waiting', tries: 0, failures: 0, returned: 0 };

/** Why a try or a job did not succeed. */
export interface Ending {
  readonly class: FailureClass;
  readonly code: string;
  readonly message: string;
}

/** A node that this job leaves out until a moment. */
export interface Exclusion {
  readonly nodeId: string;
  readonly until: Instant;
}

export interface JobState {
  /** False until JobSubmitted. All other fields are then defaults. */
  readonly exists: boolean;
  readonly jobId: string;
  readonly spec: JobSpec | undefined;
  readonly account: string;
  readonly institution: string;
  readonly fingerprint: string;
  readonly evaluationId: string;
  readonly submittedAt: Instant;
  readonly rerunOf: string | undefined;
  readonly priority: number;
  /** It waits for other jobs to end, and is not in the queue yet. */
  readonly blocked: boolean;
  /** When it first entered the queue: when its dependencies were met, or when it was submitted where it has none. */
  readonly queuedAt: Instant;
  readonly paused: boolean;
  readonly resumedAt: Instant | undefined;
  readonly cancelRequested: string | undefined;
  readonly ended: JobOutcome | undefined;
  readonly endedAt: Instant | undefined;
  /** Why it ended, when not by completing. */
  readonly ending: Ending | undefined;
  readonly partitions: readonly Partition[];
  /** In the order of their reservations; of an endless job the live ones, and of each partition the last that ended. */
  readonly executions: Readonly<Record<string, Execution>>;
  /** Reservations made so far; the next fencing token is one more. */
  readonly reservations: number;
  readonly decisions: number;
  readonly lastDecision: Decision | undefined;
  /** The last one that failed as often as it may. */
  readonly failedEvaluation: string | undefined;
  /** Those that were last recorded as superseded. */
  readonly superseded: readonly string[];
  readonly exclusions: readonly Exclusion[];
  readonly avoid: readonly string[];
  /** Claims that were fenced off, the latest last: none of them can become an execution any more. */
  readonly abandoned: readonly string[];
}

export const absentJob = (): JobState => ({
  exists: false,
  jobId: '',
  spec: undefined,
  account: '',
  institution: '',
  fingerprint: '',
  evaluationId: '',
  submittedAt: '',
  rerunOf: undefined,
  priority: 0,
  blocked: false,
  queuedAt: '',
  paused: false,
  resumedAt: undefined,
  cancelRequested: undefined,
  ended: undefined,
  endedAt: undefined,
  ending: undefined,
  partitions: [],
  executions: {},
  reservations: 0,
  decisions: 0,
  lastDecision: undefined,
  failedEvaluation: undefined,
  superseded: [],
  exclusions: [],
  avoid: [],
  abandoned: [],
});

const LIVE: ReadonlySet<ExecutionStateName> = new Set([
  'reserved',
  'confirmed',
  'preparing',
  'running',
  'paused',
  'publishing',
]);

/** A live execution holds its contract on the node, and may run there. */
export const isLive = (execution: Pick<Execution, 'state'>): boolean => LIVE.has(execution.state);

export const liveExecutions = (job: Pick<JobState, 'executions'>): Execution[] =>
  Object.values(job.executions).filter(isLive);

/**
 * Whether a try that was lost counts as an attempt: a node that had confirmed may have started it before it fell silent, so
 * only an unconfirmed one certainly never ran.
 */
export const mayHaveRun = ({ state }: Pick<Execution, 'state'>): boolean => state !== 'reserved';

/**
 * The one word for the whole job: its end, else `paused` or `blocked`, else what its most advanced live execution does, else
 * `queued`. A job is `running` from the start of a task to the end of the last one, `reserved` while nothing has started yet.
 */
export const jobStateName = (job: JobState): JobStateName => {
  if (job.ended) return job.ended;
  if (job.paused) return 'paused';
  if (job.blocked) return 'blocked';
  const live = liveExecutions(job);
  if (live.some(({ state }) => state === 'running' || state === 'publishing')) return 'running';
  if (live.some(({ state }) => state === 'paused')) return 'paused';
  return live.length > 0 ? 'reserved' : 'queued';
};
