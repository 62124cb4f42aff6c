import type { NodeEvent } from '#nodes';
import { applyEvent, decide, emptyCluster, plannedRequest } from '#placement';
import type { ClusterState, PlacementRequest } from '#placement';
import { aJobSpec, anInventory, aGpu, second } from '#testing';
import type { BenchResult } from './bench-result.js';
import { quantile } from './measures.js';

/* The pure decision alone, on a cluster in memory that fills and empties as decisions are taken and runs end. */

const SIZES: readonly (readonly [nodes: number, decisions: number])[] = [
  [100, 10_000],
  [1_000, 10_000],
  [5_000, 8_000],
  [20_000, 3_000],
];
const GIB = 1024 ** 3;
/** The oldest reservation ends when the cluster holds so many for each node. */
const HELD_PER_NODE = 3;

/** Takes some seconds. */
export const benchPlacement = (): BenchResult => ({
  name: 'placement',
  rows: SIZES.map(([nodes, decisions]) => {
    decideMany(new Population(nodes), Math.ceil(decisions / 5));
    return measure(new Population(nodes), decisions);
  }),
  notes: [
    'one thread; nodes of four kinds, half of them filled; jobs of eight shapes; each decision is taken and applied',
  ],
});

const measure = (population: Population, decisions: number): BenchResult['rows'][number] => {
  const begun = performance.now();
  const { spans, placed } = decideMany(population, decisions);
  const elapsed = performance.now() - begun;
  return {
    nodes: population.size,
    decisions,
    placed,
    'decisions/s': Math.round((decisions / elapsed) * 1000),
    'p50 ms': quantile(spans, 0.5).toFixed(3),
    'p99 ms': quantile(spans, 0.99).toFixed(3),
  };
};

const decideMany = (population: Population, decisions: number): { spans: number[]; placed: number } => {
  const spans: number[] = [];
  let placed = 0;
  for (let number = 1; number <= decisions; number += 1) {
    const request = SHAPES[number % SHAPES.length]!(number);
    const context = { number: 1, evaluationId: 'bench', trigger: 'JobSubmitted', partition: 0, time: second(60) };
    const begun = performance.now();
    const { nodeId, contract } = decide(request, population.cluster, context);
    spans.push(performance.now() - begun);
    if (nodeId === undefined || !contract) continue;
    placed += 1;
    population.reserve(nodeId, { executionId: `${request.jobId}.1`, jobId: request.jobId, project: 'demo', contract });
  }
  return { spans, placed };
};

const shape =
  (change: Parameters<typeof aJobSpec>[0]) =>
  (number: number): PlacementRequest =>
    plannedRequest({ jobId: `job-${String(number)}`, spec: aJobSpec(change), account: 'ada', institution: 'usp' });

const small = { cpu: 1, memory: GIB, disk: 0, ioSlots: 0 };

const SHAPES = [
  shape({}),
  shape({ resources: { ...small, cpu: 4, memory: 8 * GIB } }),
  shape({ resources: { ...small, gpu: { count: 1, share: 1, memory: 16 * GIB, models: [] } } }),
  shape({ resources: { ...small, gpu: { count: 1, share: 0.5, memory: 8 * GIB, models: ['A100'] } } }),
  shape({ constraints: ['region in (br, eu)', '!spot'] }),
  shape({ architecture: ['arm64'] }),
  shape({ application: { name: 'node', version: '>=20' }, profile: 'memory' }),
  shape({ preferences: [{ constraint: 'rack = r1', weight: 50 }], profile: 'interactive' }),
];

/** Nodes of four kinds in three regions, and what they hold. */
class Population {
  readonly cluster: ClusterState = emptyCluster();
  private readonly revisions = new Map<string, bigint>();
  private position = 0n;
  private readonly held: { readonly nodeId: string; readonly executionId: string }[] = [];

  constructor(readonly size: number) {
    const project = { projectId: 'demo', institution: 'usp', members: ['*'], quota: {}, weight: 1, at: second(0) };
    this.record('project-demo', { type: 'ProjectConfigured', data: project });
    for (let index = 0; index < size; index += 1) this.enrol(index);
  }

  reserve(nodeId: string, claim: Omit<Extract<NodeEvent, { type: 'CapacityReserved' }>['data'], 'expiresAt' | 'at'>) {
    const data = { ...claim, expiresAt: second(90), at: second(60) };
    this.record(`node-${nodeId}`, { type: 'CapacityReserved', data });
    this.held.push({ nodeId, executionId: claim.executionId });
    if (this.held.length <= HELD_PER_NODE * this.size) return;
    const { nodeId: from, executionId } = this.held.shift()!;
    this.record(`node-${from}`, {
      type: 'CapacityReleased',
      data: { executionId, cause: 'succeeded', at: second(60) },
    });
  }

  private enrol(index: number): void {
    const nodeId = `node-${String(index)}`;
    const gpus = index % 4 === 1 ? [aGpu({ id: 'gpu-0' }), aGpu({ id: 'gpu-1' })] : [];
    const inventory = anInventory({
      architecture: index % 4 === 2 ? 'arm64' : 'x64',
      cpu: index % 4 === 3 ? 32 : 8,
      gpus,
      labels: { region: ['br', 'eu', 'us'][index % 3]!, rack: `r${String(index % 10)}` },
    });
    const data = { nodeId, name: nodeId, owner: 'olga', institution: 'usp', inventory, policy: {}, at: second(0) };
    this.record(`node-${nodeId}`, { type: 'NodeEnrolled', data });
    this.record(`node-${nodeId}`, { type: 'NodeWentOnline', data: { at: second(0) } });
  }

  private record(stream: string, { type, data }: { readonly type: string; readonly data: object }): void {
    const revision = (this.revisions.get(stream) ?? -1n) + 1n;
    this.revisions.set(stream, revision);
    this.position += 7n;
    applyEvent(this.cluster, { stream, revision, position: this.position, type, data });
  }
}
