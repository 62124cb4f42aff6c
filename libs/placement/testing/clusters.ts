import fc from 'fast-check';
import type { JobSpec } from '#jobs';
import type { Inventory, Policy } from '#nodes';
import { second } from '#testing';
import { GIB, World } from './world.js';

/* Random clusters and requests, small enough that every filter is met and passed. */

const names = fc.subarray(['usp', 'mit']);
const policy: fc.Arbitrary<Policy> = fc.record(
  {
    allow: fc.record({ institutions: names }, { requiredKeys: [] }),
    deny: fc.record({ projects: fc.subarray(['demo', 'other']) }, { requiredKeys: [] }),
    maxDuration: fc.constantFrom(60, 7200),
    maxShare: fc.constantFrom({ demo: 0.5 }, { other: 0.1 }),
    maintenance: fc.constantFrom(
      [],
      [{ from: second(3600), until: second(7200), reason: 'disks' }],
      [
        { from: second(60), until: second(600), reason: 'power' },
        { from: second(600), until: second(900), reason: 'fans' },
        { from: second(90_000), until: second(100_000), reason: 'move' },
      ],
    ),
    price: fc.record({ cpuHour: fc.integer({ min: 0, max: 4 }) }),
    windows: fc.constantFrom(
      [],
      [{ days: ['thu' as const], from: '00:00', to: '01:00', timeZone: 'UTC' }],
      [{ days: ['fri' as const], from: '18:00', to: '08:00', timeZone: 'Europe/Berlin' }],
    ),
  },
  { requiredKeys: [] },
);

const inventory: fc.Arbitrary<Partial<Inventory>> = fc.record(
  {
    architecture: fc.constantFrom('x64', 'amd64', 'arm64'),
    cpu: fc.constantFrom(1, 4, 16),
    memory: fc.constantFrom(2 * GIB, 16 * GIB),
    applications: fc.subarray([
      { name: 'node', version: '18.0.0' },
      { name: 'node', version: '24.0.0' },
    ]),
    labels: fc.constantFrom<Record<string, string>>({}, { rack: 'a1' }, { rack: 'b1', spot: 'yes' }),
    gpus: fc.constantFrom([], [{ id: 'g0', model: 'T4', memory: 16 * GIB }]),
    container: fc.constantFrom({ engine: 'podman' as const, version: '4.3.1' }),
  },
  { requiredKeys: ['architecture', 'cpu', 'memory', 'applications', 'labels', 'gpus'] },
);

const node = fc.record({
  inventory,
  policy,
  presence: fc.constantFrom('online', 'online', 'offline', 'cordoned'),
  held: fc.constantFrom(0, 0, 1, 3),
  failures: fc.constantFrom(0, 0, 1, 4),
});

export const spec: fc.Arbitrary<Partial<JobSpec>> = fc.record(
  {
    application: fc.constantFrom({ name: 'node' }, { name: 'node', version: '>=20' }),
    task: fc.constantFrom({ command: ['tool'], env: {}, image: 'quay.io/lab/tool:1' }),
    architecture: fc.subarray(['x64', 'arm64']),
    constraints: fc.subarray(['rack', '!spot', 'rack = a1']),
    preferences: fc.subarray([
      { constraint: 'rack = a1', weight: 50 },
      { constraint: 'spot', weight: 10 },
    ]),
    estimate: fc.constantFrom({}, { duration: 600 }, { duration: 36_000 }),
    budget: fc.constantFrom({ maxCost: 1 }),
    type: fc.constantFrom<JobSpec['type']>('batch', 'service', 'ops'),
    resources: fc.record(
      {
        cpu: fc.constantFrom(0.1, 1, 8),
        memory: fc.constantFrom(GIB, 8 * GIB),
        disk: fc.constant(0),
        ioSlots: fc.constantFrom(0, 1),
        gpu: fc.constantFrom({ count: 1, share: 0.5, models: [] }, { count: 1, share: 1, models: ['A100'] }),
      },
      { requiredKeys: ['cpu', 'memory', 'disk', 'ioSlots'] },
    ),
  },
  { requiredKeys: [] },
);

type NodePlan = typeof node extends fc.Arbitrary<infer Plan> ? Plan : never;

/** The cluster of such nodes, `n0`, `n1` and so on. */
export const build = (plans: readonly NodePlan[]): World => {
  const world = new World();
  plans.forEach(({ inventory: has, policy: accepts, presence, held, failures }, index) => {
    const id = `n${index}`;
    world.node(id, { inventory: has, policy: accepts });
    world.job(`holder-${id}`);
    if (held > 0) world.reserve(`holder-${id}`, id, { cpu: held, memory: GIB });
    for (let count = 0; count < failures; count += 1) world.run(id, 'infrastructure');
    if (presence === 'offline') {
      world.onNode(id, { type: 'NodeWentOffline', data: { lastSeenAt: second(0), reason: 'silent', at: second(5) } });
    }
    if (presence === 'cordoned') world.onNode(id, { type: 'NodeCordoned', data: { reason: 'disk', at: second(5) } });
  });
  return world;
};

export const nodes = fc.array(node, { maxLength: 6 });
/** Within the first eight days of the epoch. */
export const time = fc.integer({ min: 0, max: 200 }).map((hours) => second(hours * 3600));
