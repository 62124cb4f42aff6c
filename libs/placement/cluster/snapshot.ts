import type { Pool } from '#nodes';
import { countIn } from './apply-node.js';
import { list, map, optional, plain, record, texts, whole } from './codec.js';
import type { Codec } from './codec.js';
import { factsOf } from './facts.js';
import { devicesOf, hold, totalsOf } from './ledger.js';
import type { JobMix } from './mix.js';
import { emptyPool } from './pool-line.js';
import { lineUp } from './pools.js';
import type {
  ClusterJob,
  ClusterNode,
  ClusterProject,
  ClusterState,
  EndedJob,
  Held,
  LiveExecution,
  PartitionState,
} from './state.js';

/*
 * The cluster as lines of JSON, one for each node, job and so on, and back. What follows from other fields is left out and
 * made again, and so is what the scheduler only takes for granted: a snapshot tells what the log tells, nothing more.
 */

/** One line: the member of `ClusterState` that it belongs to, and what it adds to it. */
export type ClusterLine = readonly [part: string, value: unknown];

interface Part {
  lines(cluster: ClusterState): Iterable<unknown>;
  add(cluster: ClusterState, line: unknown): void;
}

const table = <T>(tableOf: (cluster: ClusterState) => Map<string, T>, codec: Codec<T>): Part => ({
  *lines(cluster) {
    for (const [key, value] of tableOf(cluster)) yield [key, codec.save(value)];
  },
  add(cluster, line) {
    const [key, value] = line as [string, unknown];
    tableOf(cluster).set(key, codec.load(value));
  },
});

const PROJECT: Codec<ClusterProject> = record<ClusterProject>()({
  id: 'plain',
  institution: 'plain',
  members: 'plain',
  quota: 'plain',
  weight: 'plain',
  revision: whole,
});

const HELD: Codec<Held> = record<Held>()({
  executionId: 'plain',
  jobId: 'plain',
  project: 'plain',
  contract: 'plain',
  expiresAt: 'plain',
  assumed: 'plain',
  confirmed: 'plain',
  started: 'plain',
});

/** What is only assumed is this process's own guess. */
const LEDGER: Codec<Map<string, Held>> = {
  save: (ledger) => Array.from(ledger.values()).flatMap((held) => (held.assumed ? [] : [HELD.save(held)])),
  load: (json) => new Map((json as unknown[]).map(HELD.load).map((held) => [held.executionId, held])),
};

const NODE = record<ClusterNode>()({
  id: 'plain',
  name: 'plain',
  owner: 'plain',
  institution: 'plain',
  inventory: 'plain',
  policy: 'plain',
  facts: 'derived',
  enrolledAt: 'plain',
  online: 'plain',
  since: 'plain',
  lastSeenAt: 'plain',
  cordon: 'plain',
  latencyClass: 'plain',
  pool: 'plain',
  refusals: 'plain',
  drain: 'plain',
  revision: whole,
  total: 'derived',
  used: 'derived',
  devices: 'derived',
  usedShares: 'derived',
  ledger: LEDGER,
  unconfirmed: 'derived',
  waiting: 'derived',
  projectCpu: 'derived',
  record: 'plain',
  applicationRecords: map(plain()),
  outage: 'plain',
  uptime: 'plain',
  cached: optional(texts),
  inputs: texts,
});

const EXECUTION: Codec<LiveExecution> = record<LiveExecution>()({
  executionId: 'plain',
  jobId: 'plain',
  nodeId: 'plain',
  partition: 'plain',
  attempt: 'plain',
  fencingToken: 'plain',
  contract: 'plain',
  confirmBy: 'plain',
  reservedAt: 'plain',
  state: 'plain',
  startedAt: 'plain',
  stopRequested: 'plain',
});

const PARTITION: Codec<PartitionState> = record<PartitionState>()({
  state: 'plain',
  target: 'plain',
  leaving: 'plain',
  executionId: 'plain',
  nodeId: 'plain',
  notBefore: 'plain',
  avoid: 'plain',
  memory: 'plain',
  digest: 'plain',
  blame: 'plain',
});

const JOB: Codec<ClusterJob> = record<ClusterJob>()({
  id: 'plain',
  spec: 'plain',
  account: 'plain',
  project: 'plain',
  institution: 'plain',
  submittedAt: 'plain',
  evaluationId: 'plain',
  partitions: list(PARTITION),
  executions: map(EXECUTION),
  exclusions: map(plain()),
  priority: 'plain',
  blocked: 'plain',
  queuedAt: 'plain',
  paused: 'plain',
  cancelRequested: 'plain',
  decisions: 'plain',
  lastDecision: 'plain',
  fencingToken: 'plain',
  revision: whole,
});

const ENDED: Codec<EndedJob> = record<EndedJob>()({
  outcome: 'plain',
  at: 'plain',
  revision: whole,
  lingering: optional(JOB),
});

const MIX: Codec<JobMix> = record<JobMix>()({
  version: 'plain',
  arrivals: 'plain',
  refreshAt: 'plain',
  counts: map(plain()),
  typical: 'plain',
});

/** The books are kept again from the ledger's lines, the way they came to be. */
const addNode = (cluster: ClusterState, line: unknown): void => {
  const { ledger, ...stored } = NODE.load(line);
  const node: ClusterNode = {
    ...stored,
    facts: factsOf(stored, stored.inventory, stored.policy),
    total: totalsOf(stored.inventory),
    used: { cpu: 0, memory: 0, disk: 0, ioSlots: 0 },
    devices: devicesOf(stored.inventory, new Map()),
    usedShares: 0,
    ledger: new Map(),
    unconfirmed: 0,
    waiting: 0,
    projectCpu: new Map(),
  };
  cluster.nodes.set(node.id, node);
  countIn(cluster, node, 1);
  if (node.pool !== undefined) cluster.pools.get(node.pool)?.nodes.add(node.id);
  for (const held of ledger.values()) hold(cluster, node, held);
};

const addJob = (cluster: ClusterState, line: unknown): void => {
  const job = JOB.load(line);
  cluster.jobs.set(job.id, job);
  lineUp(cluster, job);
};

/** Executions are shared with their jobs, so only their names are written here. */
const addLive = (cluster: ClusterState, line: unknown): void => {
  const [nodeId, executions] = line as [string, [jobId: string, executionId: string][]];
  const onNode = new Map<string, LiveExecution>();
  for (const [jobId, executionId] of executions) {
    const job = cluster.jobs.get(jobId) ?? cluster.ended.get(jobId)?.lingering;
    const execution = job?.executions.get(executionId);
    if (!execution) throw new Error(`the execution ${executionId} has no job`);
    onNode.set(executionId, execution);
  }
  cluster.live.set(nodeId, onNode);
};

const liveLine = ([nodeId, onNode]: [string, Map<string, LiveExecution>]): unknown => [
  nodeId,
  Array.from(onNode.values(), ({ jobId, executionId }) => [jobId, executionId]),
];

/** In the order in which they can be read again. */
const PARTS: { readonly [K in keyof ClusterState]-?: Part | 'derived' } = {
  position: {
    lines: ({ position }) => [whole.save(position)],
    add: (cluster, line) => void (cluster.position = whole.load(line)),
  },
  projects: table(({ projects }) => projects, PROJECT),
  pools: {
    lines: ({ pools }) => pools.values().map(({ name, discipline }) => ({ name, discipline })),
    add: ({ pools }, line) => void pools.set((line as Pool).name, emptyPool(line as Pool)),
  },
  nodes: {
    lines: ({ nodes }) => nodes.values().map((node) => NODE.save(node)),
    add: addNode,
  },
  jobs: {
    lines: ({ jobs }) => jobs.values().map((job) => JOB.save(job)),
    add: addJob,
  },
  ended: table(({ ended }) => ended, ENDED),
  live: { lines: ({ live }) => live.entries().map(liveLine), add: addLive },
  usage: 'derived',
  holdings: 'derived',
  consumption: table(({ consumption }) => consumption, plain()),
  capacity: 'derived',
  assumed: 'derived',
  mix: {
    lines: ({ mix }) => [MIX.save(mix)],
    add: ({ mix }, line) => void Object.assign(mix, MIX.load(line)),
  },
};

/**
 * What the log has told, line by line. Between two lines the caller may give way to others, as long as no event is applied
 * meanwhile; reservations may be assumed and taken back.
 */
export function* clusterLines(cluster: ClusterState): Generator<ClusterLine, void> {
  for (const [name, part] of Object.entries(PARTS)) {
    if (part === 'derived') continue;
    for (const line of part.lines(cluster)) yield [name, line];
  }
}

/** Adds a line to a cluster that began empty; lines come in their order. Throws for what `clusterLines` never gives. */
export const addClusterLine = (cluster: ClusterState, [name, line]: ClusterLine): void => {
  const part = PARTS[name as keyof ClusterState] as Part | 'derived' | undefined;
  if (part === undefined || part === 'derived') throw new Error(`a cluster has no stored part ${name}`);
  part.add(cluster, line);
};
