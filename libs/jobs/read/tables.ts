import {
  entityOf,
  instant,
  bigint,
  boolean,
  double,
  integer,
  json,
  nullable,
  once,
  searchableJson,
  text,
} from '#read-store';
import type { Instant } from '#kernel';
import type { Contract } from '#nodes';
import type { KeyedTable, LogTable } from '#read-store';
import type { Decision, DecisionOutcome, FilteredReason } from '../domain/decision.js';
import type { Artifact, Consumption } from '../domain/events.js';
import type { JobSpec, JobType } from '../domain/job-spec.js';
import type { Ending, ExecutionStateName, JobStateName } from '../domain/state.js';

/** A job as a list shows it. What a job does not have (yet) is null. */
export interface JobRow {
  readonly id: string;
  readonly name: string;
  readonly project: string;
  readonly account: string;
  readonly institution: string;
  readonly type: JobType;
  readonly state: JobStateName;
  readonly stateSince: Instant;
  readonly priority: number;
  /** Partitions (of a job with targets, the nodes that it is to run on now), and how many of them have succeeded. */
  readonly count: number;
  readonly succeeded: number;
  /** Partitions that were given up while the job goes on, by their numbers; only of a job with targets. */
  readonly failedPartitions: readonly number[];
  readonly submittedAt: Instant;
  readonly startedAt: Instant | null;
  readonly endedAt: Instant | null;
  /** Of the last execution. */
  readonly nodeId: string | null;
  readonly executionId: string | null;
  /** Of the last execution; 0 before the first. */
  readonly attempt: number;
  /** 0…1, as of the last quarter that was recorded; the share of partitions that succeeded when there are several. */
  readonly progress: number;
  /** Why it waits, stops or failed, in one line. */
  readonly reason: string | null;
  /** Why no node was chosen at the last look; null when none was needed since. */
  readonly waitingOn: readonly FilteredReason[] | null;
  /** The end of a backoff. */
  readonly notBefore: Instant | null;
  readonly failure: Ending | null;
  /** It waits for other jobs to end. */
  readonly blocked: boolean;
  readonly paused: boolean;
  readonly cancelRequested: boolean;
  readonly decisions: number;
  /** Live executions: claimed but not running; running or publishing; paused on their node. */
  readonly liveReserved: number;
  readonly liveRunning: number;
  readonly livePaused: number;
  readonly labels: Readonly<Record<string, string>>;
  /** The job that this one runs again. */
  readonly rerunOf: string | null;
  readonly spec: JobSpec;
}

export const jobsTable: KeyedTable<JobRow> = {
  kind: 'keyed',
  name: 'jobs',
  key: 'id',
  tracked: true,
  columns: {
    id: text,
    name: once(text),
    project: once(text),
    account: once(text),
    institution: once(text),
    /** The fold asks for it at every event, so it is not left unread as the others of the submission are. */
    type: text,
    state: text,
    stateSince: instant,
    priority: integer,
    count: integer,
    succeeded: integer,
    failedPartitions: json,
    submittedAt: once(instant),
    startedAt: nullable(instant),
    endedAt: nullable(instant),
    nodeId: nullable(text),
    executionId: nullable(text),
    attempt: integer,
    progress: double,
    reason: nullable(text),
    waitingOn: nullable(json),
    notBefore: nullable(instant),
    failure: nullable(json),
    blocked: boolean,
    paused: boolean,
    cancelRequested: boolean,
    decisions: integer,
    liveReserved: integer,
    liveRunning: integer,
    livePaused: integer,
    labels: once(searchableJson),
    rerunOf: once(nullable(text)),
    spec: once(json),
  },
  indexes: [
    '(submitted_at DESC, id DESC)',
    '(project, submitted_at DESC, id DESC)',
    '(state, submitted_at DESC, id DESC)',
    '(name, submitted_at DESC, id DESC)',
    "(priority DESC, state_since, id) WHERE state IN ('queued', 'blocked')",
    '(rerun_of, submitted_at) WHERE rerun_of IS NOT NULL',
  ],
};

/** One try of one partition. */
export interface ExecutionRow {
  readonly executionId: string;
  readonly jobId: string;
  readonly partition: number;
  readonly attempt: number;
  readonly nodeId: string;
  readonly fencingToken: number;
  readonly state: ExecutionStateName;
  readonly contract: Contract;
  readonly confirmBy: Instant;
  readonly reservedAt: Instant;
  readonly confirmedAt: Instant | null;
  readonly preparingAt: Instant | null;
  readonly startedAt: Instant | null;
  readonly pausedAt: Instant | null;
  readonly publishingAt: Instant | null;
  readonly endedAt: Instant | null;
  /** 0…1, as of the last quarter that was recorded. */
  readonly progress: number;
  readonly exitCode: number | null;
  readonly failure: Ending | null;
  readonly artifacts: readonly Artifact[];
  readonly consumption: Consumption | null;
  readonly diagnostics: Readonly<Record<string, unknown>> | null;
  /** Reports that came when the try was over. */
  readonly lateReports: number;
}

export const executionsTable: KeyedTable<ExecutionRow> = {
  kind: 'keyed',
  name: 'executions',
  key: 'executionId',
  tracked: false,
  columns: {
    executionId: text,
    jobId: once(text),
    partition: integer,
    attempt: integer,
    nodeId: text,
    fencingToken: once(integer),
    state: text,
    contract: json,
    confirmBy: once(instant),
    reservedAt: once(instant),
    confirmedAt: nullable(instant),
    preparingAt: nullable(instant),
    startedAt: nullable(instant),
    pausedAt: nullable(instant),
    publishingAt: nullable(instant),
    endedAt: nullable(instant),
    progress: double,
    exitCode: nullable(integer),
    failure: nullable(json),
    artifacts: json,
    consumption: nullable(json),
    diagnostics: nullable(json),
    lateReports: integer,
  },
  indexes: ['(job_id, reserved_at)', '(node_id, reserved_at DESC)'],
};

/** One movement of a job, in words. */
export interface JobTimelineRow {
  readonly jobId: string;
  readonly revision: string;
  readonly position: string;
  readonly at: Instant;
  readonly type: string;
  readonly actor: string;
  /** A sentence without its full stop. */
  readonly title: string;
  readonly executionId: string | null;
  readonly data: object;
}

export const jobTimelineTable: LogTable<JobTimelineRow> = {
  kind: 'log',
  name: 'job_timeline',
  key: ['jobId', 'revision'],
  columns: {
    jobId: text,
    revision: bigint,
    position: bigint,
    at: instant,
    type: text,
    actor: text,
    title: text,
    executionId: nullable(text),
    data: json,
  },
  indexes: [],
};

export interface DecisionRow {
  readonly jobId: string;
  readonly number: number;
  readonly outcome: DecisionOutcome;
  readonly winner: string | null;
  readonly runnerUp: string | null;
  readonly time: Instant;
  /** Of the event itself; how far the cluster was folded is in the decision. */
  readonly position: string;
  readonly decision: Decision;
}

export const decisionsTable: LogTable<DecisionRow> = {
  kind: 'log',
  name: 'decisions',
  key: ['jobId', 'number'],
  columns: {
    jobId: text,
    number: integer,
    outcome: text,
    winner: nullable(text),
    runnerUp: nullable(text),
    time: instant,
    position: bigint,
    decision: json,
  },
  indexes: [],
};

export const jobEntity = entityOf(jobsTable);
export const executionEntity = entityOf(executionsTable);
export const jobTimelineEntity = entityOf(jobTimelineTable);
export const decisionEntity = entityOf(decisionsTable);
