import { second } from '#testing';
import { aJobSpec, aGpu, aPolicy, anInventory } from '#testing';
import { FAILURE_CLASSES, hasTargets, isEndless } from '#jobs';
import type { Dependency, FailureClass, JobSpec, JobType } from '#jobs';
import type { GpuDevice, Inventory, Policy } from '#nodes';
import type { Quota } from '#projects';
import type { Chance } from './chance.js';

/* What a seed makes of machines, projects and jobs. */

const GIB = 1024 ** 3;

export interface PlannedNode {
  readonly name: string;
  readonly inventory: Inventory;
  readonly policy: Policy;
  readonly institution: string;
}

export interface PlannedJob {
  readonly key: string;
  readonly spec: JobSpec;
  readonly account: string;
}

/** What a seed draws from, and how likely some of the troubles are, each 0…1. */
export interface Workload {
  readonly node: (name: string, chance: Chance) => PlannedNode;
  /** One of so many `jobs`. */
  readonly job: (index: number, jobs: number, chance: Chance) => PlannedJob;
  /** Users cancel jobs, hold them, and change their priority. */
  readonly whims: boolean;
  /** That a node joins only when the storm is under way; that it leaves for good; that it stays cordoned. */
  readonly joinsLate: number;
  readonly leaves: number;
  readonly staysCordoned: number;
  /** Whether all daemons must be live on all of their nodes before they are ended. */
  readonly daemonsLive: boolean;
}

export const PROJECTS: readonly { readonly id: string; readonly quota: Quota }[] = [
  { id: 'demo', quota: {} },
  { id: 'lab', quota: { cpu: 24, gpus: 4 } },
  { id: 'few', quota: { jobs: 4 } },
];

const ZONES = ['a', 'b', 'c'];
const MODELS = ['A100', 'V100', 'T4'];

const aPlannedNode = (name: string, chance: Chance): PlannedNode => {
  const cpu = chance.pick([2, 4, 8, 16, 32]);
  const labels = { zone: chance.pick(ZONES), ...(chance.happens(0.2) ? { spot: 'true' } : {}) };
  const applications = [
    { name: 'node', version: chance.pick(['20.11.0', '22.4.0', '24.1.0']) },
    ...(chance.happens(0.4) ? [{ name: 'python', version: chance.pick(['3.9.2', '3.12.1']) }] : []),
  ];
  const inventory = anInventory({
    architecture: chance.happens(0.8) ? 'x64' : 'arm64',
    cpu,
    memory: cpu * chance.pick([1, 2, 4]) * GIB,
    disk: chance.int(10, 200) * GIB,
    gpus: chance.happens(0.3) ? gpusOf(chance) : [],
    applications,
    labels,
  });
  return { name, inventory, policy: policyOf(chance), institution: chance.pick(['usp', 'unicamp']) };
};

const gpusOf = (chance: Chance): GpuDevice[] => {
  const model = chance.pick(MODELS);
  const count = chance.pick([1, 2, 4]);
  return Array.from({ length: count }, (_, index) => aGpu({ id: `gpu-${String(index)}`, model, memory: 16 * GIB }));
};

const policyOf = (chance: Chance): Policy =>
  chance.weighted<Policy>([
    [14, aPolicy()],
    [1, { allow: { institutions: ['usp'] } }],
    [1, { deny: { projects: ['lab'] } }],
    [1, { maxShare: { demo: 0.5 } }],
    [1, { maxDuration: 60 }],
    [1, { windows: [{ days: EVERY_DAY, from: '00:05', to: '00:30', timeZone: 'UTC' }] }],
    [1, { price: { cpuHour: 2 } }],
  ]);

const EVERY_DAY = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;

const RETRIED: readonly FailureClass[] = ['node-lost', 'infrastructure', 'timeout', 'resource'];

/** Seconds that a task runs which is there until it is stopped. */
const FOR_EVER = 1_000_000;

/** Of many jobs fewer are endless or on all nodes: each of those costs as much as dozens of others, for as long as it lasts. */
const batchesFor = (jobs: number): number => (jobs > 100 ? 150 : 20);

const aPlannedJob = (index: number, jobs: number, chance: Chance): PlannedJob => {
  const key = `j${String(index).padStart(4, '0')}`;
  const type = chance.weighted<JobType>([
    [batchesFor(jobs), 'batch'],
    [1, 'service'],
    [1.5, 'ops'],
    [1, 'daemon'],
  ]);
  const run = runOf(type, chance);
  const spec = aJobSpec({
    name: key,
    project: chance.weighted([
      [7, 'demo'],
      [2, 'lab'],
      [1, 'few'],
    ]),
    type,
    count: chance.weighted([
      [7, 1],
      [2, 2],
      [1, 3],
    ]),
    priority: chance.pick([10, 50, 50, 50, 90]),
    ...demandsOf(chance),
    inputs: inputsOf(chance),
    ...(hasTargets(type) ? onManyNodes(chance) : {}),
    ...(chance.happens(0.7) ? { estimate: { duration: run } } : {}),
    ...(chance.happens(0.1) ? { budget: { maxCost: 1 } } : {}),
    task: { command: ['run'], env: { RUN: String(run) } },
    retry: {
      attempts: chance.int(1, 4),
      backoff: chance.pick(['constant', 'exponential']),
      interval: chance.int(1, 10),
      maxInterval: 30,
      on: chance.happens(0.8) ? RETRIED : [],
    },
    timeouts: { confirm: chance.pick([5, 15, 15, 30]), ...boundsOf(chance) },
  });
  return { key, spec, account: chance.pick(['ana', 'bia', 'caio']) };
};

const WHEN: readonly Dependency['when'][] = ['completed', 'completed', 'completed', 'terminal', 'failed'];

/** Of some jobs: two that wait for this one, and one that waits for both. */
export const dependentsOf = ({ key }: PlannedJob, jobs: number, chance: Chance): PlannedJob[] => {
  if (key.includes('-') || !chance.happens(0.06)) return [];
  const on = (...parents: readonly string[]) => ({
    dependsOn: parents.map((parent) => ({ job: parent, when: chance.pick(WHEN) })),
  });
  const graph = { left: on(key), right: on(key), join: on(`${key}-left`, `${key}-right`) };
  return Object.entries(graph).map(([name, dependsOn]) => {
    const planned = aPlannedJob(0, jobs, chance.of(name));
    return { ...planned, key: `${key}-${name}`, spec: { ...planned.spec, ...dependsOn } };
  });
};

const runOf = (type: JobType, chance: Chance): number => {
  if (isEndless(type)) return chance.happens(0.5) ? FOR_EVER : chance.int(60, 300);
  return chance.int(1, chance.happens(0.1) ? 200 : 40);
};

/** So little on each that the rest goes on, and mostly not on all. */
const onManyNodes = (chance: Chance): Partial<JobSpec> => ({
  count: 1,
  resources: { cpu: chance.pick([0.1, 0.25]), memory: GIB / 4, disk: 0, ioSlots: 0 },
  constraints: chance.weighted([
    [5, [`zone = ${chance.pick(ZONES)}`]],
    [1, ['!spot']],
    [0.5, ['zone = nowhere']],
  ]),
});

/** Some are over long before the storm is, some never come into play. */
const boundsOf = (chance: Chance): Partial<JobSpec['timeouts']> =>
  chance.weighted<Partial<JobSpec['timeouts']>>([
    [6, {}],
    [1, { queue: chance.int(20, 400) }],
    [1, { run: chance.int(2, 40) }],
    [1, { total: chance.int(30, 600) }],
    [1, { queue: chance.int(20, 200), run: chance.int(2, 40), total: chance.int(240, 600) }],
  ]);

/** A few data sets that many jobs read. */
const DATA = Array.from({ length: 6 }, (_, index) => String(index).repeat(64));

const inputsOf = (chance: Chance): JobSpec['inputs'] => {
  const count = chance.weighted([
    [4, 0],
    [2, 1],
    [1, 2],
  ]);
  return Array.from({ length: count }, (_, index) => {
    const sha256 = chance.pick(DATA);
    return { source: `https://data.example/${sha256}`, path: String(index), sha256, size: GIB };
  });
};

/** Few kinds of demand, so that many jobs share a shape; some of them no machine can ever meet. */
const demandsOf = (chance: Chance): Partial<JobSpec> => {
  const cpu = chance.pick([0.5, 1, 1, 2, 4]);
  const resources = { cpu, memory: chance.pick([0.5, 1, 2]) * GIB, disk: chance.pick([0, GIB]), ioSlots: 0 };
  return chance.weighted<Partial<JobSpec>>([
    [10, { resources }],
    [2, { resources, application: { name: 'node', version: '>=22' } }],
    [1, { resources, application: { name: 'python', version: '>=3.10' } }],
    [1, { resources, architecture: ['arm64'] }],
    [2, { resources, constraints: [`zone = ${chance.pick(ZONES)}`] }],
    [1, { resources, constraints: ['!spot'], preferences: [{ constraint: 'zone = a', weight: 50 }] }],
    [2, { resources: { ...resources, gpu: { count: chance.int(1, 2), share: chance.pick([0.5, 1]), models: [] } } }],
    [2, { resources, batch: { size: 64, min: 8, memoryPerItem: 64 * 1024 ** 2, gpuMemoryPerItem: 0 } }],
    [1, { resources: { ...resources, cpu: 24 } }],
    [0.5, { resources: { ...resources, cpu: 512 } }],
    [0.5, { resources, constraints: ['zone = nowhere'] }],
  ]);
};

/** Everything that there is. */
export const MIXED: Workload = {
  node: aPlannedNode,
  job: aPlannedJob,
  whims: true,
  joinsLate: 0.2,
  leaves: 0.1,
  staysCordoned: 0.1,
  daemonsLive: false,
};

const BESIDE: readonly JobType[] = ['ops', 'daemon'];

/** Of every eleven jobs ten are batches of three parts which are tried until they complete; the last is on many nodes. */
const aFleetJob = (index: number, _jobs: number, chance: Chance): PlannedJob => {
  const type = index % 11 < 10 ? 'batch' : (BESIDE[((index - 10) / 11) % BESIDE.length] ?? 'ops');
  const resources = { cpu: chance.pick([0.5, 1, 2]), memory: GIB, disk: 0, ioSlots: 0 };
  const run = isEndless(type) ? FOR_EVER : chance.int(1, 40);
  const spec = aJobSpec({
    name: `f${String(index)}`,
    type,
    resources,
    ...(hasTargets(type) ? { ...onManyNodes(chance), constraints: [`zone = ${chance.pick(ZONES)}`] } : { count: 3 }),
    task: { command: ['run'], env: { RUN: String(run) } },
    retry: { attempts: 1_000, backoff: 'constant', interval: chance.int(1, 10), maxInterval: 30, on: FAILURE_CLASSES },
  });
  return { key: `f${String(index).padStart(4, '0')}`, spec, account: 'ana' };
};

/** Batches that must all complete, jobs on many nodes beside them, and nodes that come and go. */
export const FLEET: Workload = {
  node: (name, chance) => ({ ...aPlannedNode(name, chance), policy: aPolicy(), institution: 'usp' }),
  job: aFleetJob,
  whims: false,
  joinsLate: 0.5,
  leaves: 0.4,
  staysCordoned: 0,
  daemonsLive: true,
};

export const START_OF_TIME = Date.parse(second(0));
