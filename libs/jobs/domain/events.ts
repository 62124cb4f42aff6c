import type { Instant } from '#kernel';
import type { Contract } from '#nodes';
import type { Decision } from './decision.js';
import type { FailureClass, JobSpec, MetDependency, PinnedInput } from './job-spec.js';

export type { JobOutcome, MetDependency } from './job-spec.js';

/** Everything that is ever stored in a `job-<id>` stream. Stored events are forever: add, never change. */
export type JobEvent =
  | JobSubmitted
  | JobPriorityChanged
  | JobPaused
  | JobResumed
  | DependenciesMet
  | TargetsChanged
  | PlacementDecided
  | ExecutionReserved
  | ReservationConfirmed
  | ReservationDeclined
  | ReservationExpired
  | ReservationAbandoned
  | ExecutionPreparing
  | ExecutionStarted
  | ExecutionProgressed
  | ExecutionPaused
  | ExecutionResumed
  | ExecutionPublishing
  | ExecutionSucceeded
  | ExecutionFailed
  | ExecutionLost
  | ExecutionStopRequested
  | ExecutionTimedOut
  | ExecutionCancelled
  | LateResultRejected
  | JobRequeued
  | PartitionFailed
  | EvaluationFailed
  | EvaluationsSuperseded
  | JobCancelRequested
  | JobCompleted
  | JobFailed
  | JobCancelled;

/** A file that the task left behind, addressed by its content. `path` is relative to the task's folder. */
export interface Artifact {
  readonly path: string;
  readonly sha256: string;
  readonly size: number;
  readonly mediaType: string;
}

/** What an execution used. Bytes and seconds; `maxMemory` is the peak of the whole process tree. */
export interface Consumption {
  readonly cpuSeconds: number;
  readonly wallSeconds: number;
  readonly maxMemory: number;
  readonly maxDisk: number;
  readonly gpuSeconds: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
}

export interface JobSubmitted {
  readonly type: 'JobSubmitted';
  readonly data: {
    readonly jobId: string;
    readonly spec: JobSpec;
    readonly account: string;
    /** The project's institution at submission. */
    readonly institution: string;
    /** The evaluation that the submission asks for. */
    readonly evaluationId: string;
    /** sha256 of the request's canonical form: tells a repeated submission from another one under the same key. */
    readonly fingerprint: string;
    readonly rerunOf?: string;
    readonly at: Instant;
  };
}

export interface JobPriorityChanged {
  readonly type: 'JobPriorityChanged';
  readonly data: { readonly priority: number; readonly at: Instant };
}

/** Asked for: nothing new starts, and what runs is to be stopped in place on its node. */
export interface JobPaused {
  readonly type: 'JobPaused';
  readonly data: { readonly reason: string; readonly at: Instant };
}

export interface JobResumed {
  readonly type: 'JobResumed';
  readonly data: { readonly at: Instant };
}

/** Each job that this one depends on has ended as it asked: from now on it is in the queue. */
export interface DependenciesMet {
  readonly type: 'DependenciesMet';
  readonly data: {
    readonly dependencies: readonly MetDependency[];
    /** Absent when there is nothing to read of them, and in events of old. */
    readonly inputs?: readonly PinnedInput[];
    readonly at: Instant;
  };
}

/** A partition that runs on one node and nowhere else. */
export interface Target {
  readonly partition: number;
  readonly nodeId: string;
}

/**
 * Which nodes a job with targets runs on: once for `ops`, whenever the nodes that match change for `daemon`. A node keeps its
 * partition's number for ever, also when it leaves and comes back. `position` (decimal text) is how far the cluster was
 * folded, `at` the time as of which the nodes were matched, and `algorithm` by what: enough to derive the change again from
 * the log.
 */
export interface TargetsChanged {
  readonly type: 'TargetsChanged';
  readonly data: {
    readonly evaluationId: string;
    readonly position: string;
    readonly algorithm: string;
    readonly added: readonly Target[];
    /** Partitions. What is live of one is asked to stop, and it is not placed again. */
    readonly removed: readonly number[];
    readonly at: Instant;
  };
}

export interface PlacementDecided {
  readonly type: 'PlacementDecided';
  readonly data: Decision;
}

/** The exclusive claim of `contract` on `nodeId`, to be confirmed before `confirmBy`. */
export interface ExecutionReserved {
  readonly type: 'ExecutionReserved';
  readonly data: {
    readonly executionId: string;
    readonly partition: number;
    /** Which try of the partition this is, from 1; a reservation that never ran does not count. */
    readonly attempt: number;
    readonly nodeId: string;
    /** Rises with each reservation of the job; a report must carry it. */
    readonly fencingToken: number;
    readonly contract: Contract;
    readonly confirmBy: Instant;
    readonly at: Instant;
  };
}

/** `contract`: the node takes it with a smaller batch, and this is all that it may use; absent: with what was reserved. */
export interface ReservationConfirmed {
  readonly type: 'ReservationConfirmed';
  readonly data: { readonly executionId: string; readonly contract?: Contract; readonly at: Instant };
}

export interface ReservationDeclined {
  readonly type: 'ReservationDeclined';
  readonly data: { readonly executionId: string; readonly reason: string; readonly at: Instant };
}

export interface ReservationExpired {
  readonly type: 'ReservationExpired';
  readonly data: { readonly executionId: string; readonly confirmBy: Instant; readonly at: Instant };
}

/**
 * Fences off a claim that stands in a node's ledger but never reached this stream (its scheduler died in between). The
 * scheduler, should it wake up, finds the stream moved on, and the claim can be released.
 */
export interface ReservationAbandoned {
  readonly type: 'ReservationAbandoned';
  readonly data: { readonly executionId: string; readonly nodeId: string; readonly at: Instant };
}

/** The node fetches inputs that it lacks. */
export interface ExecutionPreparing {
  readonly type: 'ExecutionPreparing';
  readonly data: { readonly executionId: string; readonly at: Instant };
}

export interface ExecutionStarted {
  readonly type: 'ExecutionStarted';
  readonly data: { readonly executionId: string; readonly at: Instant };
}

/** A quarter was passed: progress ticks are telemetry, these few are kept for the audit. `fraction` in 0…1. */
export interface ExecutionProgressed {
  readonly type: 'ExecutionProgressed';
  readonly data: {
    readonly executionId: string;
    readonly fraction: number;
    readonly message: string;
    readonly at: Instant;
  };
}

export interface ExecutionPaused {
  readonly type: 'ExecutionPaused';
  readonly data: { readonly executionId: string; readonly at: Instant };
}

export interface ExecutionResumed {
  readonly type: 'ExecutionResumed';
  readonly data: { readonly executionId: string; readonly at: Instant };
}

/** The task ended well; its outputs are being stored. */
export interface ExecutionPublishing {
  readonly type: 'ExecutionPublishing';
  readonly data: { readonly executionId: string; readonly at: Instant };
}

export interface ExecutionSucceeded {
  readonly type: 'ExecutionSucceeded';
  readonly data: {
    readonly executionId: string;
    readonly exitCode: number;
    readonly artifacts: readonly Artifact[];
    readonly consumption: Consumption;
    readonly at: Instant;
  };
}

export interface ExecutionFailed {
  readonly type: 'ExecutionFailed';
  readonly data: {
    readonly executionId: string;
    readonly class: FailureClass;
    /** Stable word for programs: `exit-code`, `signal`, `input-missing`, … */
    readonly code: string;
    readonly message: string;
    readonly exitCode?: number;
    readonly diagnostics: Readonly<Record<string, unknown>>;
    readonly artifacts: readonly Artifact[];
    readonly consumption?: Consumption;
    /** `system` in records from when the control plane ended runs that their nodes did not; absent, it is the node's word. */
    readonly endedBy?: 'node' | 'system';
    readonly at: Instant;
  };
}

/** The node was silent for longer than its lease: the try is over whatever its agent may still say. */
export interface ExecutionLost {
  readonly type: 'ExecutionLost';
  readonly data: { readonly executionId: string; readonly reason: string; readonly at: Instant };
}

/**
 * Why the system takes a try from its node: the node is drained, or the job may not or cannot run there any more. Stable words
 * for programs.
 */
export type StopCause = 'node-drained' | 'no-longer-matches' | 'maintenance';

/** Asked of the node for the system's own reasons: the job goes on. What is asked for is over when the node says so. */
export interface ExecutionStopRequested {
  readonly type: 'ExecutionStopRequested';
  readonly data: {
    readonly executionId: string;
    readonly cause: StopCause;
    readonly reason: string;
    readonly at: Instant;
  };
}

/**
 * A run has taken longer than its `limit` (seconds, `timeouts.run`), and its node had not ended it by then. It is asked to; the
 * contract stays its own until that is confirmed, or its node is lost.
 */
export interface ExecutionTimedOut {
  readonly type: 'ExecutionTimedOut';
  readonly data: { readonly executionId: string; readonly limit: number; readonly at: Instant };
}

export interface ExecutionCancelled {
  readonly type: 'ExecutionCancelled';
  readonly data: {
    readonly executionId: string;
    readonly reason: string;
    readonly consumption?: Consumption;
    readonly exitCode?: number;
    /** What was stored before it was stopped. */
    readonly artifacts?: readonly Artifact[];
    readonly at: Instant;
  };
}

/** What a node can say of an execution. */
export type ReportType =
  'confirm' | 'decline' | 'prepare' | 'start' | 'progress' | 'pause' | 'resume' | 'publish' | 'succeed' | 'fail';

/** A report about an execution that is no longer current. Recorded once per execution and kind; changes nothing else. */
export interface LateResultRejected {
  readonly type: 'LateResultRejected';
  readonly data: {
    readonly executionId: string;
    readonly fencingToken: number;
    readonly report: ReportType;
    readonly nodeId: string;
    readonly reason: string;
    readonly at: Instant;
  };
}

/** Why a partition waits again: how its execution failed, or `ended` where one that ended well is replaced. */
export type RequeueCause = FailureClass | 'ended';

/**
 * A partition waits again. `notBefore` is the end of the backoff. `exclude` keeps a node that did not answer out of this
 * job's choice until its time; `avoid` asks for another node first. `memory` is what the partition asks for from now on, in
 * bytes, after it ran out of that. `seenOn` is on how many nodes, from two on, its tries have failed with this class: it
 * counts against the job then, and no node is avoided for it.
 */
export interface JobRequeued {
  readonly type: 'JobRequeued';
  readonly data: {
    readonly partition: number;
    readonly cause: RequeueCause;
    readonly message: string;
    readonly notBefore: Instant;
    readonly exclude?: { readonly nodeId: string; readonly until: Instant };
    readonly avoid?: string;
    readonly memory?: number;
    readonly seenOn?: number;
    readonly at: Instant;
  };
}

/** A partition of a job with targets is given up, and its job goes on with the others. */
export interface PartitionFailed {
  readonly type: 'PartitionFailed';
  readonly data: {
    readonly partition: number;
    readonly class: FailureClass;
    readonly code: string;
    readonly message: string;
    readonly at: Instant;
  };
}

/**
 * A look at the job failed as often as it may, so nothing was decided. The job is looked at again at the next event that may
 * help it.
 */
export interface EvaluationFailed {
  readonly type: 'EvaluationFailed';
  readonly data: {
    readonly evaluationId: string;
    /** What had asked for it. */
    readonly trigger: string;
    readonly deliveries: number;
    /** The last fault, in words. */
    readonly reason: string;
    readonly at: Instant;
  };
}

/** Looks at the job that were asked for and never made: the evaluation `by` saw all that they would have seen. */
export interface EvaluationsSuperseded {
  readonly type: 'EvaluationsSuperseded';
  readonly data: {
    readonly by: string;
    readonly evaluations: readonly { readonly evaluationId: string; readonly trigger: string }[];
    readonly at: Instant;
  };
}

/** Executions still live are told to stop; the job ends when the last one has. */
export interface JobCancelRequested {
  readonly type: 'JobCancelRequested';
  readonly data: { readonly reason: string; readonly byUser: boolean; readonly at: Instant };
}

export interface JobCompleted {
  readonly type: 'JobCompleted';
  readonly data: { readonly at: Instant };
}

export interface JobFailed {
  readonly type: 'JobFailed';
  readonly data: {
    readonly class: FailureClass;
    readonly code: string;
    readonly message: string;
    readonly at: Instant;
  };
}

export interface JobCancelled {
  readonly type: 'JobCancelled';
  readonly data: { readonly reason: string; readonly at: Instant };
}

export const jobStream = (jobId: string): string => `job-${jobId}`;
export const JOB_STREAM_PREFIX = 'job-';

/** An execution's id starts with its job's, so that a report finds its stream: `<job id>.<suffix>`. */
export const executionIdOf = (jobId: string, suffix: string): string => `${jobId}.${suffix}`;
export const jobIdOfExecution = (executionId: string): string => executionId.slice(0, executionId.indexOf('.'));
