import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { JobSpec } from '#jobs';
import { aGpu, second } from '#testing';
import { changeInWords, decide, smallestChange } from '../index.js';
import type { SmallestChange } from '../index.js';
import { contextAt, GIB, primaryReasons, World } from '../testing/world.js';

const asked = (change: Partial<JobSpec['resources']>): Partial<JobSpec> => ({
  resources: { cpu: 1, memory: GIB, disk: 0, ioSlots: 0, ...change },
});

const smallest = (world: World, spec: Partial<JobSpec>, at = second(0)): SmallestChange =>
  smallestChange(world.request(spec), world.cluster, { time: at });

const changesOf = (found: SmallestChange): string[] =>
  found.kind === 'job' ? found.changes.map(({ requirement, from, to }) => `${requirement} ${from} → ${to}`) : [];

describe('the smallest change that would start a job now', () => {
  it.each<[string, Partial<JobSpec>, string]>([
    ['CPU', asked({ cpu: 12 }), 'resources.cpu 12 → 8'],
    ['memory', asked({ memory: 64 * GIB }), 'resources.memory 64 GiB → 16 GiB'],
    ['disk', asked({ disk: 200 * GIB }), 'resources.disk 200 GiB → 100 GiB'],
    ['I/O slots', asked({ ioSlots: 9 }), 'resources.ioSlots 9 → 4'],
    ['the number of GPUs', asked({ gpu: { count: 4, share: 1, models: [] } }), 'resources.gpu.count 4 → 1'],
    [
      'the memory of GPUs',
      asked({ gpu: { count: 1, share: 0.5, memory: 80 * GIB, models: [] } }),
      'resources.gpu.memory 80 GiB → 40 GiB',
    ],
    [
      'the model list',
      asked({ gpu: { count: 1, share: 1, models: ['H100'] } }),
      'resources.gpu.models H100 → also A100',
    ],
    ['the version', { application: { name: 'node', version: '>=26' } }, 'application.version node >=26 → also 24.1.0'],
    ['a constraint', { constraints: ['region = br'] }, 'constraints region = br → not asked for'],
    ['a package', { packages: [{ name: 'numpy' }] }, 'packages numpy → not asked for'],
    ['the architecture', { architecture: ['arm64'] }, 'architecture arm64 → also x64'],
  ])('A-20 A-88 is one of %s, to the least that helps', (_what, spec, change) => {
    const world = new World();
    world.node('a', { inventory: { gpus: [aGpu()] } });
    const found = smallest(world, spec);
    expect(changesOf(found)).toEqual([change]);
    expect(found).toMatchObject({ nodeId: 'a' });
  });

  describe('behind the first in the line of a `backfill` pool', () => {
    /** Six of the eight cores of `a` are held for ten minutes; then `first` wants so many. */
    const behind = (cpu: number): World => {
      const world = new World();
      world.node('a');
      const pool = { name: 'p', discipline: 'backfill' } as const;
      world.onNode('a', { type: 'NodePoolChanged', data: { pool, at: second(0) } });
      world.job('running', { ...asked({ cpu: 6 }), estimate: { duration: 600 } });
      world.reserve('running', 'a', { cpu: 6 });
      world.job('first', { ...asked({ cpu }), priority: 60 });
      world.onJob('first', { type: 'PlacementDecided', data: world.decide('first').decision });
      return world;
    };

    it.each<[string, number, Partial<JobSpec>, string[]]>([
      ['a shorter estimate', 8, { estimate: { duration: 1200 } }, ['estimate.duration 20 min → 10 min']],
      ['an estimate at all', 8, {}, ['estimate.duration none → 10 min']],
      ['less beside it', 7, { ...asked({ cpu: 1.5 }), estimate: { duration: 1200 } }, ['resources.cpu 1.5 → 1']],
    ])('A-88 is %s', (_what, cpu, spec, changes) => {
      const world = behind(cpu);
      expect(primaryReasons(world.plan(spec))).toEqual(['pool.would-delay']);
      const found = smallest(world, spec);
      expect([changesOf(found), found]).toEqual([changes, expect.objectContaining({ nodeId: 'a' })]);
    });
  });

  it('A-88 is the estimate or the budget where the owner bounds them', () => {
    const world = new World();
    world.node('a', { policy: { maxDuration: 3600 } });
    expect(changesOf(smallest(world, { estimate: { duration: 7200 } }))).toEqual(['estimate.duration 2 h → 1 h']);
    expect(changesOf(smallest(world, {}))).toEqual(['estimate.duration none → 1 h']);
    const dear = new World();
    dear.node('a', { policy: { price: { cpuHour: 2, gpuHour: 0, memoryGiBHour: 0 } } });
    expect(changesOf(smallest(dear, { estimate: { duration: 3600 }, budget: { maxCost: 1.8 } }))).toEqual([
      'resources.cpu 1 → 0.9',
    ]);
    const free = { estimate: { duration: 3600 }, budget: { maxCost: 1.8 }, ...asked({ cpu: 0.001, memory: GIB }) };
    expect(smallest(dear, free)).toMatchObject({ kind: 'nothing', nodeId: 'a' });
  });

  it('prefers the least share of an amount, and any amount to what is dropped', () => {
    const world = new World();
    world.node('small', { inventory: { cpu: 2 } });
    world.node('other', { inventory: { labels: { region: 'pt' } } });
    const spec = { ...asked({ cpu: 3 }), constraints: ['region != pt'] };
    world.node('third', { inventory: { cpu: 8, memory: GIB / 2, labels: { region: 'us' } } });
    expect(changesOf(smallest(world, { ...spec, constraints: ['region notin (pt)'] }))).toEqual([
      'resources.memory 1 GiB → 512 MiB',
    ]);
  });

  it('is two changes when no single one is enough', () => {
    const world = new World();
    world.node('a', { inventory: { cpu: 4 } });
    const spec = { ...asked({ cpu: 6, memory: 20 * GIB }) };
    expect(changesOf(smallest(world, spec))).toEqual(['resources.cpu 6 → 4', 'resources.memory 20 GiB → 16 GiB']);
  });

  it('A-88 says so when the cause is the owner’s or the system’s, and what would have to change there', () => {
    const world = new World();
    world.node('a', { policy: { deny: { accounts: ['ana'] } } });
    world.node('b', { policy: { deny: { accounts: ['ana'] } }, inventory: { cpu: 1 } });
    const found = smallest(world, asked({ cpu: 2 }));
    expect(found).toMatchObject({ kind: 'others', nodes: 2, reasons: [{ reason: 'policy.account', side: 'owner' }] });
    expect(changeInWords(found)).toBe(
      'No change of one or two requirements of the job would start it now. Nearest are 2 nodes: ' +
        "the owner does not accept the account (the owner's side; passes when the owner changes the policy).",
    );
    expect(smallest(new World(), {})).toEqual({ kind: 'no-nodes' });
  });

  it('Quota with room, node full: the reason is capacity', () => {
    const world = new World();
    world.project({ quota: { cpu: 100 } });
    world.node('a', { inventory: { cpu: 4 } });
    world.job('j');
    world.reserve('j', 'a', { cpu: 3 });
    expect(primaryReasons(world.plan(asked({ cpu: 2 })))).toEqual(['capacity.cpu']);
    expect(changesOf(smallest(world, asked({ cpu: 2 })))).toEqual(['resources.cpu 2 → 1']);
  });

  it('Both arch and permission fail: both are listed', () => {
    const world = new World();
    world.node('a', { policy: { deny: { projects: ['demo'] } } });
    const { decision } = world.plan({ architecture: ['arm64'] });
    expect(decision.filtered.map(({ reason, nodes, also }) => [reason, nodes, also])).toEqual([
      ['policy.project', 1, 0],
      ['architecture', 0, 1],
    ]);
  });

  it('is what the real placer confirms, and nothing less would do', () => {
    const node = fc.record({ cpu: fc.integer({ min: 1, max: 8 }), memory: fc.integer({ min: 1, max: 8 }) });
    fc.assert(
      fc.property(
        fc.array(node, { minLength: 1, maxLength: 6 }),
        fc.integer({ min: 1, max: 12 }),
        fc.integer({ min: 1, max: 12 }),
        (nodes, cpu, memory) => {
          const world = new World();
          nodes.forEach((one, index) =>
            world.node(`n${String(index)}`, { inventory: { cpu: one.cpu, memory: one.memory * GIB } }),
          );
          const found = smallest(world, asked({ cpu, memory: memory * GIB }));
          const shares = nodes.flatMap((one) => [
            ...(one.memory >= memory ? [1 - one.cpu / cpu] : []),
            ...(one.cpu >= cpu ? [1 - one.memory / memory] : []),
          ]);
          const best = Math.min(...shares);
          if (best <= 0) return expect(found.kind).toBe('nothing');
          if (found.kind !== 'job') throw new Error('some change always helps here');
          expect(found.changes).toHaveLength(shares.length > 0 ? 1 : 2);
          const values = Object.fromEntries(
            found.changes.map(({ requirement, to }) => [requirement, Number.parseFloat(to)]),
          );
          const resources = {
            cpu: values['resources.cpu'] ?? cpu,
            memory: (values['resources.memory'] ?? memory) * GIB,
          };
          const request = world.request(asked(resources));
          expect(decide(request, world.cluster, contextAt(second(0))).nodeId).toBe(found.nodeId);
          if (shares.length === 0) return;
          expect(Math.max(1 - resources.cpu / cpu, 1 - resources.memory / GIB / memory)).toBeCloseTo(best, 6);
        },
      ),
    );
  });
});
