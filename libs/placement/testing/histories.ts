import fc from 'fast-check';
import type { FailureClass, JobEvent, JobSpec, PlaceInLine } from '#jobs';
import type { Contract, Inventory, LatencyClass, Pool } from '#nodes';
import { aContract, aDecision, aGpu, second } from '#testing';
import type { LiveExecution } from '../index.js';
import { ending, GIB, World } from './world.js';

/*
 * Random histories of a small cluster. Most of what happens could happen; what could not (a release told twice, an event
 * for a job that has ended) is stored as well, for the fold must live with whatever a log holds.
 */

type Step = (world: World, pick: Pick, at: string) => void;

/** Choices of one step, by small numbers. */
interface Pick {
  readonly job: string;
  readonly node: string;
  readonly any: number;
}

type Some<T> = readonly [T, ...T[]];

/** One of them, by a number of any size. */
const choose = <T>(some: Some<T>, any: number): T => some[any % some.length] ?? some[0];

const execution = ({ cluster }: World, { any }: Pick): LiveExecution | undefined => {
  const all = [...cluster.live.values()].flatMap((onNode) => [...onNode.values()]);
  return all[any % Math.max(1, all.length)];
};

const onExecution =
  (event: (executionId: string, at: string, pick: Pick) => JobEvent): Step =>
  (world, pick, at) => {
    const live = execution(world, pick);
    if (live) world.onJob(live.jobId, event(live.executionId, at, pick));
  };

const onJob =
  (event: (at: string, pick: Pick) => JobEvent): Step =>
  (world, pick, at) =>
    world.onJob(pick.job, event(at, pick));

const SHAPES: Some<Partial<JobSpec>> = [
  {},
  {
    count: 2,
    inputs: [
      { source: 'sha256:aa', path: 'a' },
      { source: 'https://x.example/b', path: 'b' },
      { source: 'https://x.example/c', path: 'c', sha256: 'cc', size: GIB },
      { source: 'job:j0/d', path: 'd', size: 2 },
      { source: 'job:j0/e', path: 'e' },
    ],
  },
  { application: { name: 'node' }, resources: { cpu: 0.3, memory: GIB, disk: 0, ioSlots: 1 } },
  { resources: { cpu: 1, memory: GIB, disk: 0, ioSlots: 0, gpu: { count: 1, share: 0.5, models: [] } } },
  { project: 'other', type: 'daemon', priority: 70 },
  { type: 'ops' },
  { type: 'service', count: 2 },
  { dependsOn: [{ job: 'j0', when: 'terminal' }] },
];

const INVENTORIES: Some<Partial<Inventory>> = [
  { cpu: 4, gpus: [aGpu(), aGpu({ id: 'gpu-1', model: 'T4' })] },
  { cpu: 16, gpus: [aGpu()], labels: { rack: 'a1' } },
  { architecture: 'arm64', applications: [] },
];

const CONTRACTS: Some<Partial<Contract>> = [
  {},
  { cpu: 0.7, ioSlots: 1 },
  { gpus: [{ id: 'gpu-0', share: 0.3, memory: GIB }] },
];

const LATENCY_CLASSES: Some<LatencyClass> = ['local', 'near', 'far', 'remote'];

const DIGESTS: Some<string> = ['aa', 'bb', 'cc'];

const POOLS: Some<Pool | null> = [
  { name: 'p', discipline: 'backfill' },
  { name: 'p', discipline: 'fifo' },
  { name: 'q', discipline: 'backfill' },
  { name: 'q', discipline: 'priority' },
  null,
];

/** Places in line as a decision may say, be they true or not. */
const LINES: Some<readonly PlaceInLine[] | undefined> = [
  [{ pool: 'p', hold: { nodeId: 'n0', from: second(200_000) } }],
  [{ pool: 'p' }],
  [{ pool: 'p', hold: { nodeId: 'n1' } }, { pool: 'q' }],
  undefined,
];

const OUTCOMES: Some<FailureClass | 'success'> = [
  'success',
  'infrastructure',
  'application',
  'node-lost',
  'expired',
  'declined',
  'cancelled',
];

/** Starts that are common stand here more than once. */
const STEPS: Some<Step> = [
  submit,
  submit,
  submit,
  submit,
  ...Array.from({ length: 6 }, (): Step => reserve),
  (world, { node, any }) => world.node(node, { inventory: choose(INVENTORIES, any), at: any }),
  (world, { node }, at) =>
    world.onNode(node, { type: 'NodeWentOffline', data: { lastSeenAt: at, reason: 'silent', at } }),
  (world, { node }, at) => world.onNode(node, { type: 'NodeWentOnline', data: { at } }),
  (world, { node }, at) => world.onNode(node, { type: 'NodeCordoned', data: { reason: 'disk', at } }),
  (world, { node }, at) => world.onNode(node, { type: 'NodeUncordoned', data: { at } }),
  (world, { node, any }, at) =>
    world.onNode(node, {
      type: 'NodeDrainStarted',
      data: { reason: 'move', at, ...(any % 2 ? { deadline: second(99_999) } : {}) },
    }),
  (world, { node, any }, at) =>
    world.onNode(node, {
      type: 'NodePolicyChanged',
      data: { policy: any % 2 ? { maxShare: { demo: 0.5 }, deny: { accounts: ['eve'] } } : {}, at },
    }),
  (world, { node, any }, at) =>
    world.onNode(node, {
      type: 'NodeLatencyChanged',
      data: { latencyClass: choose(LATENCY_CLASSES, any), roundTrip: any, at },
    }),
  (world, { node, any }, at) =>
    world.onNode(node, {
      type: 'NodeCacheChanged',
      data: { added: [choose(DIGESTS, any)], removed: [choose(DIGESTS, any + 1)], at },
    }),
  ...[0, 1, 2].map(
    (): Step =>
      (world, { node, any }, at) =>
        world.onNode(node, { type: 'NodePoolChanged', data: { pool: choose(POOLS, any), at } }),
  ),
  (world, { node, any }, at) => {
    const known = world.cluster.nodes.get(node);
    if (!known) return;
    const inventory = { ...known.inventory, ...choose(INVENTORIES, any) };
    world.onNode(node, { type: 'NodeInventoryChanged', data: { inventory, at } });
  },
  (world, { any }) => world.project({ projectId: any % 2 ? 'demo' : 'other', quota: { jobs: any }, weight: any + 1 }),
  ...[0, 1].map(() =>
    onJob((at, { any }) => {
      const lines = choose(LINES, any);
      const waits = { number: any, outcome: 'deferred', time: at, wakesOn: ['NodeWentOnline'] } as const;
      return { type: 'PlacementDecided', data: aDecision({ ...waits, ...(lines && { lines }) }) };
    }),
  ),
  onJob((at, { any }) => ({ type: 'JobPriorityChanged', data: { priority: any, at } })),
  onJob((at) => ({ type: 'JobPaused', data: { reason: 'hold', at } })),
  onJob((at) => ({ type: 'JobResumed', data: { at } })),
  onJob((at, { any }) => {
    const inputs = any % 2 ? [{ source: 'job:j0/e', sha256: choose(DIGESTS, any), size: any * GIB }] : undefined;
    const dependencies = [{ job: 'j0', outcome: 'failed' }] as const;
    return { type: 'DependenciesMet', data: { dependencies, ...(inputs && { inputs }), at } };
  }),
  onJob((at) => ({ type: 'JobCancelRequested', data: { reason: 'x', byUser: true, at } })),
  onJob((at, { node, any }) => ({
    type: 'JobRequeued',
    data: {
      partition: any % 2,
      cause: any % 5 === 4 ? 'ended' : 'infrastructure',
      message: 'x',
      notBefore: second(any * 1000),
      avoid: node,
      ...(any % 4 ? {} : { memory: (1 + any) * GIB }),
      ...(any % 5 ? {} : { seenOn: 2 }),
      ...(any % 3 ? { exclude: { nodeId: node, until: second(any * 5000) } } : {}),
      at,
    },
  })),
  ...[0, 1].map(() =>
    onJob((at, { any }) => ({
      type: 'TargetsChanged',
      data: {
        evaluationId: 'e',
        position: '0',
        algorithm: '1',
        added: any % 4 === 3 ? [] : [{ partition: any % 3, nodeId: `n${any % 2}` }],
        removed: any % 3 === 2 ? [any % 2] : [],
        at,
      },
    })),
  ),
  onJob((at, { any }) => ({
    type: 'PartitionFailed',
    data: { partition: any % 2, class: 'node-lost', code: 'node-lost', message: 'x', at },
  })),
  onJob((at) => ({ type: 'JobCompleted', data: { at } })),
  onJob((at) => ({ type: 'JobFailed', data: { class: 'timeout', code: 'x', message: 'x', at } })),
  onJob((at) => ({ type: 'JobCancelled', data: { reason: 'x', at } })),
  onExecution((executionId, at) => ({ type: 'ReservationConfirmed', data: { executionId, at } })),
  (world, pick, at) => {
    const live = execution(world, pick);
    if (!live) return;
    const contract = { ...live.contract, memory: Math.floor(live.contract.memory / 2), batchSize: 1 + (pick.any % 3) };
    world.onJob(live.jobId, { type: 'ReservationConfirmed', data: { executionId: live.executionId, contract, at } });
    if (pick.any % 4)
      world.onNode(live.nodeId, { type: 'CapacityReduced', data: { executionId: live.executionId, contract, at } });
  },
  onExecution((executionId, at) => ({ type: 'ExecutionPreparing', data: { executionId, at } })),
  onExecution((executionId, at) => ({ type: 'ExecutionStarted', data: { executionId, at } })),
  onExecution((executionId, at) => ({ type: 'ExecutionStarted', data: { executionId, at } })),
  onExecution((executionId, at) => ({ type: 'ExecutionPaused', data: { executionId, at } })),
  onExecution((executionId, at) => ({
    type: 'ExecutionStopRequested',
    data: { executionId, cause: 'node-drained', reason: 'drained', at },
  })),
  onExecution((executionId, at) => ({ type: 'ExecutionTimedOut', data: { executionId, limit: 1, at } })),
  onExecution((executionId, at) => ({ type: 'ExecutionResumed', data: { executionId, at } })),
  onExecution((executionId, at) => ({ type: 'ExecutionPublishing', data: { executionId, at } })),
  ...[0, 1, 2].map(() => onExecution((executionId, at, { any }) => ending(executionId, choose(OUTCOMES, any), at))),
  release,
  release,
];

function submit(world: World, { job, any }: Pick): void {
  world.job(job, choose(SHAPES, any));
}

function reserve(world: World, { job, node, any }: Pick, at: string): void {
  if (world.cluster.jobs.has(job)) world.reserve(job, node, aContract(choose(CONTRACTS, any)), any % 2, at);
}

function release(world: World, { node, any }: Pick, at: string): void {
  const held = [...(world.cluster.nodes.get(node)?.ledger.keys() ?? [])];
  const executionId = held[any % Math.max(1, held.length)];
  if (executionId !== undefined) world.release(node, executionId, at);
}

const step = fc.tuple(fc.nat({ max: STEPS.length - 1 }), fc.nat({ max: 5 }), fc.nat({ max: 2 }), fc.nat({ max: 20 }));

/** Worlds with two nodes and up to a hundred steps behind them, an hour apart. */
export const histories: fc.Arbitrary<World> = fc.array(step, { maxLength: 100, size: 'max' }).map((steps) => {
  const world = new World();
  world.node('n0');
  world.node('n1', { inventory: choose(INVENTORIES, 0) });
  steps.forEach(([kind, job, node, any], index) => {
    choose(STEPS, kind)(world, { job: `j${job}`, node: `n${node}`, any }, second(3600 * index));
  });
  return world;
});
