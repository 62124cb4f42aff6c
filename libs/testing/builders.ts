import { executionIdOf } from '#jobs';
import type {
  Artifact,
  ChangeTargets,
  Consumption,
  Decision,
  ExecutionReport,
  FailedReport,
  JobSpec,
  RecordPlan,
  ReportExecution,
  SubmitJob,
} from '#jobs';
import type { Contract, EnrollNode, GpuDevice, Inventory, Policy, ReserveCapacity } from '#nodes';
import type { ConfigureProject } from '#projects';
import { second } from './time.js';

/*
 * Ordinary values of the domain, each complete and valid; a test gives only what it is about. Where a thing has an id it
 * is `job-1`, `node-1`, `demo`, so that values built apart fit together.
 */

const GIB = 1024 ** 3;

/** The defaults of a job file, with one core and 1 GiB. */
export const aJobSpec = (change: Partial<JobSpec> = {}): JobSpec => ({
  name: 'primes',
  project: 'demo',
  type: 'batch',
  count: 1,
  priority: 50,
  packages: [],
  architecture: [],
  constraints: [],
  preferences: [],
  resources: { cpu: 1, memory: GIB, disk: 0, ioSlots: 0 },
  estimate: {},
  task: { command: ['node', 'primes.mjs'], env: {} },
  inputs: [],
  outputs: [],
  dependsOn: [],
  retry: {
    attempts: 3,
    backoff: 'exponential',
    interval: 10,
    maxInterval: 60,
    on: ['node-lost', 'infrastructure'],
  },
  timeouts: { confirm: 15 },
  labels: {},
  ...change,
});

export const aSubmission = (change: Partial<SubmitJob> = {}): SubmitJob => ({
  type: 'SubmitJob',
  jobId: 'job-1',
  spec: aJobSpec(),
  account: 'ana',
  institution: 'usp',
  evaluationId: 'evaluation-1',
  fingerprint: 'fingerprint-1',
  at: second(0),
  ...change,
});

/** Eight cores, 16 GiB, 100 GiB of disk, four I/O slots, no GPU. */
export const anInventory = (change: Partial<Inventory> = {}): Inventory => ({
  os: 'linux',
  architecture: 'x64',
  cpu: 8,
  memory: 16 * GIB,
  disk: 100 * GIB,
  ioSlots: 4,
  gpus: [],
  applications: [{ name: 'node', version: '24.1.0' }],
  packages: [],
  labels: {},
  ...change,
});

export const aGpu = (change: Partial<GpuDevice> = {}): GpuDevice => ({
  id: 'gpu-0',
  model: 'A100',
  memory: 40 * GIB,
  ...change,
});

/** An owner who lends to everybody, free of charge. */
export const aPolicy = (change: Partial<Policy> = {}): Policy => ({ ...change });

export const anEnrollment = (change: Partial<EnrollNode> = {}): EnrollNode => ({
  type: 'EnrollNode',
  nodeId: 'node-1',
  name: 'node-1',
  owner: 'olga',
  institution: 'usp',
  inventory: anInventory(),
  returning: false,
  at: second(0),
  ...change,
});

/** What the ordinary job asks for. */
export const aContract = (change: Partial<Contract> = {}): Contract => ({
  cpu: 1,
  memory: GIB,
  disk: 0,
  ioSlots: 0,
  gpus: [],
  ...change,
});

/** The claim of `execution` on the node's ledger; the ids match those of `aPlacement`. */
export const aReservation = (execution = 1, change: Partial<ReserveCapacity> = {}): ReserveCapacity => ({
  type: 'ReserveCapacity',
  executionId: executionIdOf('job-1', String(execution)),
  jobId: 'job-1',
  project: 'demo',
  contract: aContract(),
  expiresAt: second(15),
  at: second(0),
  ...change,
});

/** A placement on `node-1`, the only node there is. */
export const aDecision = (change: Partial<Decision> = {}): Decision => ({
  number: 1,
  evaluationId: 'evaluation-1',
  trigger: 'JobSubmitted',
  partition: 0,
  position: '0',
  time: second(0),
  assumed: [],
  versions: { algorithm: '1', weights: '1' },
  profile: 'balanced',
  profileFrom: 'default',
  weights: { resources: 30, reliability: 25, availability: 20, queue: 15, cost: 10 },
  outcome: 'placed',
  considered: 1,
  eligible: 1,
  filtered: [],
  ranking: [],
  winner: 'node-1',
  contract: aContract(),
  wakesOn: [],
  ...change,
});

/** Gives nodes to a job with targets, in this order. */
export const aTargetChange = (
  added: readonly string[] = ['node-1'],
  at = 0,
  change: Partial<ChangeTargets> = {},
): ChangeTargets => ({
  type: 'ChangeTargets',
  evaluationId: 'evaluation-1',
  position: '0',
  algorithm: '1',
  added,
  removed: [],
  at: second(at),
  ...change,
});

interface PlacementChange {
  readonly jobId?: string;
  readonly number?: number;
  readonly partition?: number;
  readonly nodeId?: string;
  readonly contract?: Contract;
  /** Seconds from the placement to `confirmBy`; 15 when absent. */
  readonly confirm?: number;
}

/**
 * A plan that gives one partition to a node, with its reservation. `execution` numbers it within the job: its id is
 * `<job>.<execution>`. The decision's number is the same unless given.
 */
export const aPlacement = (execution = 1, at = 0, change: PlacementChange = {}): RecordPlan => {
  const { jobId = 'job-1', number = execution, partition = 0, nodeId = 'node-1', contract = aContract() } = change;
  const placement = {
    decision: aDecision({ number, partition, winner: nodeId, contract, time: second(at) }),
    executionId: executionIdOf(jobId, String(execution)),
    nodeId,
    contract,
    confirmBy: second(at + (change.confirm ?? 15)),
  };
  return aPlan({ placements: [placement], at: second(at) });
};

/** A plan that comes to nothing but what is given. */
export const aPlan = (change: Partial<RecordPlan> = {}): RecordPlan => ({
  type: 'RecordPlan',
  placements: [],
  deferrals: [],
  stops: [],
  at: second(0),
  ...change,
});

type ReportTail<Report = ExecutionReport> = Report extends unknown
  ? Omit<Report, 'executionId' | 'fencingToken'>
  : never;

interface ReportFrom {
  readonly jobId?: string;
  readonly nodeId?: string;
  /** The number of the execution is its token, unless given. */
  readonly fencingToken?: number;
}

/** What `node-1` says of the `execution`-th reservation of the job, `at` seconds in. */
export const aReport = (execution: number, at: number, tail: ReportTail, from: ReportFrom = {}): ReportExecution => ({
  type: 'ReportExecution',
  nodeId: from.nodeId ?? 'node-1',
  report: {
    ...tail,
    executionId: executionIdOf(from.jobId ?? 'job-1', String(execution)),
    fencingToken: from.fencingToken ?? execution,
  },
  at: second(at),
});

export const aConfirmation = (execution: number, at: number, from: ReportFrom = {}): ReportExecution =>
  aReport(execution, at, { type: 'confirm' }, from);

export const anArtifact = (change: Partial<Artifact> = {}): Artifact => ({
  path: 'result.json',
  sha256: '44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a',
  size: 2,
  mediaType: 'application/json',
  ...change,
});

export const aConsumption = (change: Partial<Consumption> = {}): Consumption => ({
  cpuSeconds: 12,
  wallSeconds: 10,
  maxMemory: GIB / 2,
  maxDisk: 0,
  gpuSeconds: 0,
  bytesIn: 0,
  bytesOut: 2,
  ...change,
});

/** A result with one artifact. */
export const aSuccess = (execution: number, at: number, from: ReportFrom = {}): ReportExecution =>
  aReport(
    execution,
    at,
    { type: 'succeed', exitCode: 0, artifacts: [anArtifact()], consumption: aConsumption() },
    from,
  );

/** A failure of the machinery, which an ordinary job tries again; give another class for others. */
export const aFailure = (
  execution: number,
  at: number,
  change: Partial<FailedReport> = {},
  from: ReportFrom = {},
): ReportExecution =>
  aReport(
    execution,
    at,
    { type: 'fail', class: 'infrastructure', code: 'sandbox', message: 'the sandbox did not start', ...change },
    from,
  );

/** A project of everybody's, without bounds. */
export const aProject = (change: Partial<ConfigureProject> = {}): ConfigureProject => ({
  type: 'ConfigureProject',
  projectId: 'demo',
  institution: 'usp',
  members: ['*'],
  quota: {},
  weight: 1,
  at: second(0),
  ...change,
});
