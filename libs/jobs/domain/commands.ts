import type { Instant } from '#kernel';
import type { Contract } from '#nodes';
import type { Decision } from './decision.js';
import type {
  Artifact,
  Consumption,
  EvaluationFailed,
  EvaluationsSuperseded,
  MetDependency,
  StopCause,
} from './events.js';
import type { FailureClass, JobSpec, PinnedInput } from './job-spec.js';
import type { Ending } from './state.js';

export type JobCommand =
  | SubmitJob
  | ChangePriority
  | PauseJob
  | ResumeJob
  | MeetDependencies
  | CancelJob
  | FailJob
  | TimeOutJob
  | TimeOutExecution
  | EndIfOver
  | ChangeTargets
  | RecordPlan
  | LeaveOutNode
  | ExpireReservation
  | AbandonReservation
  | DeclareExecutionLost
  | StopExecution
  | FailPartition
  | RecordEvaluationFailed
  | RecordEvaluationsSuperseded
  | ReportExecution;

export interface SubmitJob {
  readonly type: 'SubmitJob';
  readonly jobId: string;
  readonly spec: JobSpec;
  readonly account: string;
  readonly institution: string;
  readonly evaluationId: string;
  readonly fingerprint: string;
  readonly rerunOf?: string;
  readonly at: Instant;
}

export interface ChangePriority {
  readonly type: 'ChangePriority';
  readonly priority: number;
  readonly at: Instant;
}

export interface PauseJob {
  readonly type: 'PauseJob';
  readonly reason: string;
  readonly at: Instant;
}

export interface ResumeJob {
  readonly type: 'ResumeJob';
  readonly at: Instant;
}

/** The jobs that this one depends on have ended, each as it asked; all of them are named, and what it reads of them. */
export interface MeetDependencies {
  readonly type: 'MeetDependencies';
  readonly dependencies: readonly MetDependency[];
  readonly inputs?: readonly PinnedInput[];
  readonly at: Instant;
}

export interface CancelJob {
  readonly type: 'CancelJob';
  readonly reason: string;
  readonly byUser: boolean;
  readonly at: Instant;
}

/**
 * The system gives the job up: nothing could ever run it, what it depends on did not come. What may still run is told to
 * stop.
 */
export interface FailJob {
  readonly type: 'FailJob';
  readonly class: FailureClass;
  /** Stable word for programs. */
  readonly code: string;
  readonly message: string;
  readonly at: Instant;
}

/** Ends the job when it has waited, or taken, longer than it may (`timeouts.queue`, `timeouts.total`). */
export interface TimeOutJob {
  readonly type: 'TimeOutJob';
  readonly at: Instant;
}

/**
 * Ends the job when nothing of it is left to do and its end is not recorded. That comes with the end of its last execution, so
 * this is for histories in which it was lost.
 */
export interface EndIfOver {
  readonly type: 'EndIfOver';
  readonly at: Instant;
}

/** Records that a run is over its `timeouts.run` by `grace` seconds, and its node did not end it. */
export interface TimeOutExecution {
  readonly type: 'TimeOutExecution';
  readonly executionId: string;
  readonly grace: number;
  readonly at: Instant;
}

/**
 * Nodes that a job with targets is to run on from now on, and those that it is not to any more; see `TargetsChanged`. Who has
 * its partition already, or has none to lose, changes nothing; nor does an `ops` job that has targets.
 */
export interface ChangeTargets {
  readonly type: 'ChangeTargets';
  readonly evaluationId: string;
  readonly position: string;
  /** By which version of placement the nodes were matched. */
  readonly algorithm: string;
  /** Node ids. New ones get their partitions in this order. */
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /** As of when the nodes were matched. */
  readonly at: Instant;
}

/** Gives up one partition of a job with targets that waits: nothing can come of it on its node. */
export interface FailPartition {
  readonly type: 'FailPartition';
  readonly partition: number;
  readonly class: FailureClass;
  /** Stable word for programs. */
  readonly code: string;
  readonly message: string;
  readonly at: Instant;
}

/** The same evaluation again, or one of a job that is over, changes nothing. */
export type RecordEvaluationFailed = { readonly type: 'RecordEvaluationFailed' } & EvaluationFailed['data'];

/** Of a job that is over nothing is recorded, and nothing twice. */
export type RecordEvaluationsSuperseded = {
  readonly type: 'RecordEvaluationsSuperseded';
} & EvaluationsSuperseded['data'];

/**
 * What one pass of a scheduler comes to: recorded whole, on the state that it was made from, or not at all. The decisions
 * number on from the job's last one, those that place first.
 */
export interface RecordPlan {
  readonly type: 'RecordPlan';
  readonly placements: readonly PlannedPlacement[];
  /** Decisions that placed nothing. */
  readonly deferrals: readonly Decision[];
  /** Of a job with targets; decisions for new ones are made when they are stored. */
  readonly targets?: PlannedTargets;
  readonly stops: readonly PlannedStop[];
  /** Why the system gives the job up, if it does. */
  readonly end?: Ending;
  readonly at: Instant;
}

/** A decision for a node, whose ledger holds the contract already. */
export interface PlannedPlacement {
  readonly decision: Decision;
  readonly executionId: string;
  readonly nodeId: string;
  readonly contract: Contract;
  readonly confirmBy: Instant;
}

/** What `ChangeTargets` says. */
export type PlannedTargets = Pick<ChangeTargets, 'evaluationId' | 'position' | 'algorithm' | 'added' | 'removed'>;

/** What `StopExecution` says of one execution. */
export type PlannedStop = Pick<StopExecution, 'executionId' | 'cause' | 'reason'>;

/** A node's ledger refused what was decided from all that it had recorded: the job leaves it alone for a while. */
export interface LeaveOutNode {
  readonly type: 'LeaveOutNode';
  readonly partition: number;
  readonly nodeId: string;
  readonly reason: string;
  readonly at: Instant;
}

export interface ExpireReservation {
  readonly type: 'ExpireReservation';
  readonly executionId: string;
  readonly at: Instant;
}

/** A claim in a node's ledger that this stream may not know: fence it off before it is released. */
export interface AbandonReservation {
  readonly type: 'AbandonReservation';
  readonly executionId: string;
  readonly nodeId: string;
  readonly at: Instant;
}

export interface DeclareExecutionLost {
  readonly type: 'DeclareExecutionLost';
  readonly executionId: string;
  readonly reason: string;
  readonly at: Instant;
}

/** The system wants a try off its node; its part of the job goes elsewhere, and it costs no attempt. */
export interface StopExecution {
  readonly type: 'StopExecution';
  readonly executionId: string;
  readonly cause: StopCause;
  /** In words, for people. */
  readonly reason: string;
  readonly at: Instant;
}

/** What a node says; `nodeId` is who says it, by its credentials. */
export interface ReportExecution {
  readonly type: 'ReportExecution';
  readonly nodeId: string;
  readonly report: ExecutionReport;
  readonly at: Instant;
}

interface ReportOf<Type extends string> {
  readonly type: Type;
  readonly executionId: string;
  readonly fencingToken: number;
}

/** The domain's form of a report; the agent protocol's is accepted as it is. */
export type ExecutionReport =
  | (ReportOf<'confirm'> & { readonly contract?: Contract })
  | (ReportOf<'decline'> & { readonly reason: string })
  | ReportOf<'prepare'>
  | ReportOf<'start'>
  | (ReportOf<'progress'> & { readonly fraction: number; readonly message?: string })
  | ReportOf<'pause'>
  | ReportOf<'resume'>
  | ReportOf<'publish'>
  | (ReportOf<'succeed'> & {
      readonly exitCode: number;
      readonly artifacts: readonly Artifact[];
      readonly consumption: Consumption;
    })
  | FailedReport;

export type FailedReport = ReportOf<'fail'> & {
  readonly class: FailureClass;
  readonly code: string;
  readonly message: string;
  readonly exitCode?: number;
  readonly diagnostics?: Readonly<Record<string, unknown>>;
  readonly artifacts?: readonly Artifact[];
  readonly consumption?: Consumption;
};
