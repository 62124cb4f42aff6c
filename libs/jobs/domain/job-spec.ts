/**
 * What a job's partitions are, and when it ends: `batch` runs `count` of them once each; `service` keeps `count` of them running;
 * `ops` runs once on every node that matches when it is first looked at; `daemon` keeps running on every node that matches.
 */
export type JobType = 'batch' | 'ops' | 'service' | 'daemon';

/** Whether each partition belongs to one node. */
export const hasTargets = (type: JobType): boolean => type === 'ops' || type === 'daemon';

/** Whether the job never ends by itself: what ends of it is replaced. */
export const isEndless = (type: JobType): boolean => type === 'service' || type === 'daemon';

/** A name with a version range (`>=20`, `1.26.x`); an absent range accepts every known version. */
export interface SoftwareRequirement {
  readonly name: string;
  readonly version?: string;
}

/** `count` devices, `share` (0…1, steps of 0.001) of each, with at least `memory` bytes, of one of `models` (empty: any). */
export interface GpuRequest {
  readonly count: number;
  readonly share: number;
  readonly memory?: number;
  readonly models: readonly string[];
}

/** `cpu` in cores (steps of 0.001), `memory` and `disk` in bytes. */
export interface ResourceRequest {
  readonly cpu: number;
  readonly memory: number;
  readonly disk: number;
  readonly ioSlots: number;
  readonly gpu?: GpuRequest;
}

/**
 * A task that works on items: it asks for `size` at once and accepts no fewer than `min`. Bytes per item. With `items` the task
 * is run again and again, for one batch after another, until so many items are done by all partitions together; without
 * it once, with one batch.
 */
export interface BatchRequest {
  readonly size: number;
  readonly min: number;
  readonly memoryPerItem: number;
  readonly gpuMemoryPerItem: number;
  readonly items?: number;
}

/** The items of one of `count` partitions, `from` to before `to`: in order, and as evenly as whole numbers allow. */
export const itemsOfPartition = (
  items: number,
  partition: number,
  count: number,
): { readonly from: number; readonly to: number } => ({
  from: Math.floor((items * partition) / count),
  to: Math.floor((items * (partition + 1)) / count),
});

export interface Preference {
  readonly constraint: string;
  /** 1…100. */
  readonly weight: number;
}

/**
 * `source` is a `sha256:…` of the artifact store, an address (`https://…`, or `http://…` with a digest) or `job:ID/path`;
 * `path` is inside the task's folder.
 */
export interface InputRequest {
  readonly source: string;
  readonly path: string;
  /** What the bytes of an address or a job's result must have: 64 hexadecimal digits. Without it they may change. */
  readonly sha256?: string;
  /** Bytes, when known at submission. */
  readonly size?: number;
  /** The bytes are an archive, and `path` is the folder that its content goes into. Absent, they are a file. */
  readonly unpack?: true;
}

/** How a job has ended. */
export type JobOutcome = 'completed' | 'failed' | 'cancelled';

/** A job that another depended on, and how it ended. */
export interface MetDependency {
  readonly job: string;
  readonly outcome: JobOutcome;
}

/** What a job that was waited for has left, named as in the file of the job that reads it. */
export interface PinnedInput {
  readonly source: string;
  readonly sha256: string;
  readonly size: number;
}

export interface Dependency {
  readonly job: string;
  readonly when: 'completed' | 'failed' | 'terminal';
}

/** Why a try did not succeed. */
export type FailureClass =
  | 'application'
  | 'input'
  | 'resource'
  | 'timeout'
  | 'node-lost'
  | 'infrastructure'
  | 'policy'
  | 'cancelled'
  | 'declined'
  | 'expired';

export const FAILURE_CLASSES: readonly FailureClass[] = [
  'application',
  'input',
  'resource',
  'timeout',
  'node-lost',
  'infrastructure',
  'policy',
  'cancelled',
  'declined',
  'expired',
];

/** After a try that ran out of memory the next one asks for `factor` (over 1) times as much, at most `max` bytes. */
export interface MemoryRetry {
  readonly factor: number;
  readonly max: number;
}

/** `attempts` in 1…100 counts tries that ran; intervals in seconds; `on` lists the classes that may be tried again. */
export interface RetryPolicy {
  readonly attempts: number;
  readonly backoff: 'constant' | 'exponential';
  readonly interval: number;
  readonly maxInterval: number;
  readonly on: readonly FailureClass[];
  readonly memory?: MemoryRetry;
}

/** Seconds. `confirm`: reservation to confirmation; `queue`, `run`, `total`: no bound when absent. */
export interface Timeouts {
  readonly confirm: number;
  readonly queue?: number;
  readonly run?: number;
  readonly total?: number;
}

/** The five factors of a score; a weight is 0…100 and counts relative to the sum. */
export interface Weights {
  readonly resources: number;
  readonly reliability: number;
  readonly availability: number;
  readonly queue: number;
  readonly cost: number;
}

export type Factor = keyof Weights;

export const FACTORS: readonly Factor[] = ['resources', 'reliability', 'availability', 'queue', 'cost'];

/**
 * What runs: a program of the node with its arguments or, with an `image` (`registry/name:tag` or `registry/name@sha256:…`),
 * one of that container image in place of its own entry point; its own where `command` is empty.
 */
export interface TaskSpec {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly image?: string;
}

/**
 * A job as it was accepted: every default filled in, sizes in bytes, durations in seconds. It never changes after
 * submission; what may change (the priority) has its own event.
 */
export interface JobSpec {
  readonly name: string;
  readonly project: string;
  readonly type: JobType;
  /** Partitions, 1…10 000; those of a job with targets are as many as its nodes, and this is 1. */
  readonly count: number;
  /** 0…100, higher first. */
  readonly priority: number;
  readonly application?: SoftwareRequirement;
  readonly packages: readonly SoftwareRequirement[];
  /** Accepted architectures; empty accepts all. */
  readonly architecture: readonly string[];
  readonly constraints: readonly string[];
  readonly preferences: readonly Preference[];
  readonly resources: ResourceRequest;
  /** Seconds the run is expected to take; absent when the researcher does not know. */
  readonly estimate: { readonly duration?: number };
  readonly batch?: BatchRequest;
  readonly task: TaskSpec;
  readonly inputs: readonly InputRequest[];
  /** Paths or glob patterns below the task's folder. */
  readonly outputs: readonly string[];
  readonly profile?: string;
  readonly weights?: Weights;
  readonly budget?: { readonly maxCost: number };
  readonly dependsOn: readonly Dependency[];
  readonly retry: RetryPolicy;
  readonly timeouts: Timeouts;
  readonly labels: Readonly<Record<string, string>>;
}
