import type { Instant, Millis } from '#kernel';
import type { Contract, Inventory, LatencyClass, Policy } from '#nodes';
import type { DecisionOutcome, JobSpec, PartitionStateName, PlaceInLine } from '#jobs';
import type { Quota } from '#projects';
import type { NodeFacts } from './facts.js';
import { emptyMix } from './mix.js';
import type { JobMix } from './mix.js';
import type { ClusterPool } from './pool-line.js';
import type { Refusals } from './refusals.js';
import type { Blame, Outage, TrackRecord } from './track-record.js';
import type { Uptime } from './uptime.js';

/**
 * All that placement knows: a fold of the node, job and project streams up to `position`, plus the reservations that the
 * scheduler takes for granted (`assumed`). `applyEvent` changes it in place; everything else only reads it.
 */
export interface ClusterState {
  /** The highest position applied; -1n before the first. */
  position: bigint;
  readonly nodes: Map<string, ClusterNode>;
  readonly projects: Map<string, ClusterProject>;
  /** Pools that nodes belong to, by name. */
  readonly pools: Map<string, ClusterPool>;
  /** Jobs that have not ended. */
  readonly jobs: Map<string, ClusterJob>;
  /** The last `ENDED_JOBS_KEPT` jobs that ended, oldest first: for dependencies, and to know a repeated event. */
  readonly ended: Map<string, EndedJob>;
  /** Executions that have not ended, by node and id, oldest first. */
  readonly live: Map<string, Map<string, LiveExecution>>;
  /** What each project holds reserved over all nodes. */
  readonly usage: Map<string, ProjectUsage>;
  /** How many reservations each job holds on which nodes, the assumed ones too. */
  readonly holdings: Map<string, Map<string, number>>;
  /** What each project holds and held lately, by recorded claims alone. */
  readonly consumption: Map<string, Consumption>;
  /** What all enrolled nodes have together. */
  readonly capacity: Shares;
  /** Reservations in flight, by execution: the node they are taken for granted on. */
  readonly assumed: Map<string, string>;
  /** What kinds of job arrive. */
  readonly mix: JobMix;
}

/** What shares are parts of: cores and GPUs in thousandths, bytes. */
export interface Shares {
  cpu: number;
  memory: number;
  gpus: number;
}

/** `average` is the decayed one as of `at`. */
export interface Consumption {
  readonly held: Shares;
  average: Shares;
  at: Millis;
}

export const ENDED_JOBS_KEPT = 100_000;

/** Whole numbers: cores in thousandths, bytes, slots. */
export interface Amounts {
  cpu: number;
  memory: number;
  disk: number;
  ioSlots: number;
}

/** A GPU and what is held of it: `usedShare` in thousandths, bytes. */
export interface Device {
  readonly id: string;
  readonly model: string;
  /** The model in lower case, as requests are compared. */
  readonly modelKey: string;
  readonly memory: number;
  usedShare: number;
  usedMemory: number;
}

/** A line of a node's ledger. */
export interface Held {
  readonly executionId: string;
  readonly jobId: string;
  readonly project: string;
  readonly contract: Contract;
  /** Absent while only assumed. */
  readonly expiresAt: Instant | undefined;
  readonly assumed: boolean;
  /** Its node has confirmed it. */
  confirmed: boolean;
  /** The task has begun to run. */
  started: boolean;
}

export interface ClusterNode {
  readonly id: string;
  name: string;
  owner: string;
  institution: string;
  inventory: Inventory;
  policy: Policy;
  /** Derived from the five above whenever they change, so that filters only look up. */
  facts: NodeFacts;
  enrolledAt: Instant;
  /** An enrolled node is offline until its first NodeWentOnline. */
  online: boolean;
  /** Of the present presence. */
  since: Instant;
  lastSeenAt: Instant | undefined;
  cordon: { readonly reason: string } | undefined;
  /** How far it is from the control plane; absent until it is known. */
  latencyClass: LatencyClass | undefined;
  drain: { readonly reason: string; readonly deadline: Instant | undefined } | undefined;
  /** The name of the one that it belongs to, a key of `ClusterState.pools`. */
  pool: string | undefined;
  revision: bigint;
  readonly total: Amounts;
  readonly used: Amounts;
  devices: Device[];
  /** Σ usedShare of the devices. */
  usedShares: number;
  /** Live reservations by execution, the assumed ones too. */
  readonly ledger: Map<string, Held>;
  /** Lines of the ledger that the node has not confirmed yet, those on their way to it too. */
  unconfirmed: number;
  /** Lines of the ledger whose task has not begun. */
  waiting: number;
  /** Cores held by project, in thousandths. */
  readonly projectCpu: Map<string, number>;
  readonly record: TrackRecord;
  readonly applicationRecords: Map<string, TrackRecord>;
  outage: Outage;
  readonly refusals: Refusals;
  readonly uptime: Uptime;
  /** Digests of what its agent says that it keeps; absent until it says so. */
  cached: Set<string> | undefined;
  /**
   * Sources of the inputs that executions here have fetched, the latest last, as far as `cached` does not tell of them; at
   * most `INPUTS_KEPT`.
   */
  readonly inputs: Set<string>;
}

export const INPUTS_KEPT = 512;

export interface ClusterProject {
  readonly id: string;
  readonly institution: string;
  readonly members: readonly string[];
  readonly quota: Quota;
  readonly weight: number;
  readonly revision: bigint;
}

export interface ProjectUsage {
  cpu: number;
  memory: number;
  /** Thousandths of a GPU. */
  gpus: number;
  /** How many reservations each job holds. */
  readonly jobs: Map<string, number>;
}

export type LiveState = 'reserved' | 'confirmed' | 'preparing' | 'running' | 'paused' | 'publishing';

export interface LiveExecution {
  readonly executionId: string;
  readonly jobId: string;
  readonly nodeId: string;
  readonly partition: number;
  readonly attempt: number;
  readonly fencingToken: number;
  contract: Contract;
  readonly confirmBy: Instant;
  readonly reservedAt: Instant;
  state: LiveState;
  startedAt: Instant | undefined;
  /** The system wants it off the node, and its part of the job elsewhere. */
  stopRequested: boolean;
}

export interface PartitionState {
  /** As the job's own state says; see `PartitionStateName`. */
  state: PartitionStateName;
  /** The one node that it may run on; undefined where any will do. */
  target: string | undefined;
  /** It was removed while it is live: when that has ended, nothing follows. */
  leaving: boolean;
  /** Of the live or last execution. */
  executionId: string | undefined;
  nodeId: string | undefined;
  /** End of the backoff. */
  notBefore: Instant | undefined;
  /** Nodes where a try failed: elsewhere first. */
  avoid: readonly string[];
  /** Bytes that it asks for since it ran out of memory; undefined while it asks for what its job does. */
  memory: number | undefined;
  /** While it waits, what its last decision said; see `reasonsDigest`. */
  digest: string | undefined;
  /** By class, what it failed that its node or itself may have brought about, since it last succeeded. */
  blame: readonly Blame[];
}

/** What was last decided about a job, in short. */
export interface DecisionSummary {
  readonly number: number;
  readonly outcome: DecisionOutcome;
  readonly partition: number;
  readonly time: Instant;
  readonly wakesOn: readonly string[];
  readonly wakesAt: Instant | undefined;
  /** Where the job stands in line by it. */
  readonly lines: readonly PlaceInLine[] | undefined;
  /** See `reasonsDigest`. */
  readonly digest: string;
}

export interface ClusterJob {
  readonly id: string;
  /** As submitted, with the digests of what its parents have left since. */
  spec: JobSpec;
  readonly account: string;
  readonly project: string;
  readonly institution: string;
  readonly submittedAt: Instant;
  /** The evaluation that the submission asked for. */
  readonly evaluationId: string;
  readonly partitions: PartitionState[];
  readonly executions: Map<string, LiveExecution>;
  /** Nodes kept out of this job's choice, until when. */
  readonly exclusions: Map<string, Instant>;
  priority: number;
  /** It waits for other jobs to end. */
  blocked: boolean;
  /** When it first entered the queue; of a blocked job, when it was submitted. */
  queuedAt: Instant;
  paused: boolean;
  cancelRequested: boolean;
  /** How many decisions are recorded. */
  decisions: number;
  lastDecision: DecisionSummary | undefined;
  /** The highest fencing token given. */
  fencingToken: number;
  revision: bigint;
}

export interface EndedJob {
  readonly outcome: 'completed' | 'failed' | 'cancelled';
  readonly at: Millis;
  revision: bigint;
  /** Kept while executions of it are still to be stopped. */
  lingering: ClusterJob | undefined;
}

export const emptyCluster = (): ClusterState => ({
  position: -1n,
  nodes: new Map(),
  projects: new Map(),
  pools: new Map(),
  jobs: new Map(),
  ended: new Map(),
  live: new Map(),
  usage: new Map(),
  holdings: new Map(),
  consumption: new Map(),
  capacity: { cpu: 0, memory: 0, gpus: 0 },
  assumed: new Map(),
  mix: emptyMix(),
});
