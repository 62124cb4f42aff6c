import type { Artifact, Consumption, Contract, FailureClass, Inventory, Policy } from './vocabulary.js';

/* What a node's agent and the control plane say to each other: JSON over HTTP below `/v1`, with the node's token. */

/** `POST /nodes/enroll`. `name` is the node's id: lower-case letters, digits and dashes, at most 63. */
export interface EnrollRequest {
  readonly name: string;
  readonly owner: string;
  readonly institution: string;
  readonly inventory: Inventory;
  readonly policy?: Policy;
}

export interface EnrollAnswer {
  readonly nodeId: string;
  readonly token: string;
  /** Seconds between two heartbeats. */
  readonly heartbeatInterval: number;
}

/** `POST /nodes/{id}/heartbeat`: what the agent holds, what the machine has free (for display), and how far it is. */
export interface HeartbeatRequest {
  readonly executions: readonly string[];
  readonly freeMemory?: number;
  readonly freeDisk?: number;
  readonly load?: number;
  /** Seconds: the median of the last heartbeats' round trips. Places the node in a latency class. */
  readonly roundTrip?: number;
}

/**
 * `POST /nodes/{id}/leave`, without a body: the agent was told to end. The node takes nothing new until it enrols again.
 */
export interface LeaveAnswer {
  readonly nodeId: string;
}

/**
 * `PUT /nodes/{id}/cache`: the digests (sha256, 64 hexadecimal digits) of the inputs of 1 MiB and more that the agent keeps for
 * later tasks; of more than 512 those that were used last. All of them each time, when they have changed, and not within ten
 * seconds of the last change (429). Placement counts by this what a node has left to fetch.
 */
export interface CacheRequest {
  readonly inputs: readonly string[];
}

/** What the control plane wants of an execution. */
export type DesiredState = 'run' | 'stop' | 'pause';

/** `min` is the least that may be granted. Bytes per item, of the machine's memory and of each device that is shared. */
export interface AssignedBatch {
  readonly min: number;
  readonly memoryPerItem: number;
  readonly gpuMemoryPerItem: number;
  /** The task is run for one batch after another until these are done; without it once, with one batch. */
  readonly items?: AssignedItems;
}

/** Items `from` to before `to`, the partition's part of `of`. */
export interface AssignedItems {
  readonly from: number;
  readonly to: number;
  readonly of: number;
}

/** `command` is empty where an image's own program runs. */
export interface AssignedTask {
  readonly command: readonly string[];
  /** The container image that it runs in, by its tag or digest; only for nodes that told of an engine. */
  readonly image?: string;
  readonly env: Readonly<Record<string, string>>;
  readonly outputs: readonly string[];
  /** Index of this partition, and how many there are. */
  readonly partition: number;
  readonly partitions: number;
  /** Of a task that works in batches: how far the contract's `batchSize` may be reduced, and bytes that an item takes. */
  readonly batch?: AssignedBatch;
  /** Seconds that the run takes by its job's estimate; absent when the job has none. */
  readonly duration?: number;
  /** Seconds that the run may take; the agent ends it then with class `timeout`. */
  readonly runTimeout?: number;
}

/**
 * `source` is `sha256:…` (fetched from the artifact store), `https://…`, `http://…` or `job:ID/path`; `sha256` what its bytes
 * must have, 64 hexadecimal digits. With `unpack` they are an archive, and `path` the folder that its content goes into.
 */
export interface AssignedInput {
  readonly source: string;
  readonly path: string;
  readonly size?: number;
  readonly sha256?: string;
  readonly unpack?: boolean;
}

export interface Assignment {
  readonly executionId: string;
  readonly fencingToken: number;
  readonly jobId: string;
  readonly attempt: number;
  /** The job's, higher first. */
  readonly priority?: number;
  readonly desired: DesiredState;
  /** How far the control plane has recorded it: `reserved` still wants a confirmation. */
  readonly state: string;
  readonly contract: Contract;
  readonly task: AssignedTask;
  readonly inputs: readonly AssignedInput[];
  readonly confirmBy: string;
}

/**
 * `GET /nodes/{id}/assignments?after=REV&wait=25s`: the whole desired set. Answers at once when `revision` differs from
 * `after`, else when it changes or `wait` is over. What is not listed must not run.
 */
export interface AssignmentsAnswer {
  readonly revision: string;
  readonly executions: readonly Assignment[];
}

interface ReportOf<Type extends string> {
  readonly type: Type;
  readonly executionId: string;
  readonly fencingToken: number;
}

/** `contract`: all that the node grants, where that is a smaller batch than was reserved. */
export type ConfirmReport = ReportOf<'confirm'> & { readonly contract?: Contract };
export type DeclineReport = ReportOf<'decline'> & { readonly reason: string };
export type PrepareReport = ReportOf<'prepare'>;
export type StartReport = ReportOf<'start'>;
export type ProgressReport = ReportOf<'progress'> & {
  /** 0…1. */
  readonly fraction: number;
  readonly message?: string;
  readonly diagnostics?: Readonly<Record<string, unknown>>;
};
export type PauseReport = ReportOf<'pause'>;
export type ResumeReport = ReportOf<'resume'>;
export type PublishReport = ReportOf<'publish'>;
export type SucceedReport = ReportOf<'succeed'> & {
  readonly exitCode: number;
  readonly artifacts: readonly Artifact[];
  readonly consumption: Consumption;
};
export type FailReport = ReportOf<'fail'> & {
  readonly class: FailureClass;
  readonly code: string;
  readonly message: string;
  readonly exitCode?: number;
  readonly diagnostics?: Readonly<Record<string, unknown>>;
  readonly artifacts?: readonly Artifact[];
  readonly consumption?: Consumption;
};

/**
 * One thing a node says of an execution: `POST /executions/{id}/<type>` with the rest as body, or several at once in
 * `POST /nodes/{id}/reports`, which answers each in order.
 */
export type Report =
  | ConfirmReport
  | DeclineReport
  | PrepareReport
  | StartReport
  | ProgressReport
  | PauseReport
  | ResumeReport
  | PublishReport
  | SucceedReport
  | FailReport;

/**
 * `accepted: false` with a `reason` means: recorded as far as it matters, changes nothing, do not send it again. Answered
 * with 200 only after the report is on disk.
 */
export interface ReportAnswer {
  readonly executionId: string;
  readonly accepted: boolean;
  readonly reason?: string;
}

/**
 * `PUT /executions/{id}/logs?stream=stdout&offset=N&gap=M` (bytes): the next offset. `offset` is the chunk's place in all that the
 * task wrote; `gap` (0) tells how many bytes right before it the agent has left out for good. A gap that is not told, or
 * is larger than told, answers 409 with `expected`.
 */
export interface LogAnswer {
  readonly nextOffset: number;
}
