import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { aJobSpec, second } from '#testing';
import { emptyMix, jobArrived } from '../cluster/mix.js';
import type { JobClass, JobMix } from '../cluster/mix.js';
import { demandOf } from '../demand.js';
import { chooseDevices } from '../devices.js';
import { GIB, World } from '../testing/world.js';
import { conserved, fragmentation } from './fragmentation.js';
import type { FreeDevice } from './fragmentation.js';
import { resources } from './resources.js';

const cores = (count: number) => count * 1000;
const job = (change: Partial<JobClass>): JobClass => ({
  cpu: cores(1),
  memory: GIB,
  gpus: 1,
  share: 1000,
  models: [],
  weight: 1,
  ...change,
});
const of = (...typical: JobClass[]) => ({ typical });
const devices = (...free: number[]): FreeDevice[] => free.map((share) => ({ model: 't4', free: share }));

describe('fragmentation', () => {
  it.each<[string, number, JobClass, FreeDevice[]]>([
    ['nothing when all devices are whole', 0, job({}), devices(1000, 1000)],
    ['what is free of the devices that are too full', 300, job({}), devices(1000, 300)],
    ['all when too few devices would do', 1300, job({ gpus: 2 }), devices(1000, 300)],
    ['all when cores are short', 2000, job({ cpu: cores(9) }), devices(1000, 1000)],
    ['all when memory is short', 2000, job({ memory: 9 * GIB }), devices(1000, 1000)],
    ['all for a job without GPUs', 2000, job({ gpus: 0, share: 0 }), devices(1000, 1000)],
    [
      'the devices of another model',
      1000,
      job({ models: ['a100'] }),
      [...devices(1000), { model: 'a100', free: 1000 }],
    ],
    ['nothing of a share that fits', 0, job({ share: 300 }), devices(1000, 300)],
  ])('A-33 is %s', (_what, expected, wish, free) => {
    expect(fragmentation(cores(8), 8 * GIB, free, of(wish))).toBe(expected);
  });

  it('A-33 is the mean over the mix, by weight', () => {
    const mix = of(job({ weight: 3 }), job({ share: 500, weight: 1 }));
    expect(fragmentation(cores(8), 8 * GIB, devices(600), mix)).toBe(450);
  });

  it('A-33 lies between nothing and all that is free, and does not know the order of devices or classes', () => {
    const wish = fc.record({
      cpu: fc.integer({ min: 0, max: 16_000 }),
      memory: fc.constantFrom(GIB, 16 * GIB),
      gpus: fc.integer({ min: 0, max: 4 }),
      share: fc.integer({ min: 1, max: 1000 }),
      models: fc.constantFrom([], ['t4'], ['a100', 't4']),
      weight: fc.integer({ min: 1, max: 100_000 }),
    });
    const device = fc.record({ model: fc.constantFrom('t4', 'a100'), free: fc.integer({ min: 0, max: 1000 }) });
    fc.assert(
      fc.property(fc.array(wish), fc.array(device, { maxLength: 8 }), (typical, free) => {
        const value = fragmentation(cores(8), 8 * GIB, free, { typical });
        expect(value).toBeGreaterThanOrEqual(0);
        expect(value).toBeLessThanOrEqual(free.reduce((sum, { free: share }) => sum + share, 0));
        expect(fragmentation(cores(8), 8 * GIB, free.toReversed(), { typical: typical.toReversed() })).toBe(value);
      }),
    );
  });

  it('A-33 what a placement conserves falls as fragmentation grows, in hundredths of 0…1', () => {
    expect([-1e9, -2000, 0, 39, 2000, 1e9].map(conserved)).toEqual([0.99, 0.75, 0.5, 0.49, 0.25, 0]);
  });
});

describe('packing', () => {
  const gpus = (count: number) =>
    Array.from({ length: count }, (_, index) => ({ id: `g${index}`, model: 'T4', memory: 16 * GIB }));
  const inventory = { cpu: 32, memory: 128 * GIB, gpus: gpus(2) };
  const asking = (count: number, share = 1) => ({
    resources: { cpu: 1, memory: GIB, disk: 0, ioSlots: 0, gpu: { count, share, models: [] } },
  });

  it('A-33 a job goes where its share wastes nothing, not where it breaks a whole device', () => {
    const world = new World();
    world.node('whole', { inventory });
    world.node('begun', { inventory });
    world.job('j', asking(1, 0.4));
    const executionId = world.reserve('j', 'begun', { gpus: [{ id: 'g0', share: 0.4, memory: GIB }] });
    world.onJob('j', { type: 'ExecutionStarted', data: { executionId, at: second(1) } });
    expect(world.plan(asking(1, 0.6)).contract?.gpus).toMatchObject([{ id: 'g0' }]);
    expect(world.plan(asking(1, 0.6)).nodeId).toBe('begun');
    expect(world.plan(asking(1)).nodeId).toBe('begun');
    expect(world.plan(asking(2)).nodeId).toBe('whole');
  });

  it('A-33 a job without GPUs leaves the cores beside GPUs alone while they are needed', () => {
    const world = new World();
    world.node('scarce', { inventory: { ...inventory, cpu: 8 } });
    world.node('ample', { inventory: { ...inventory, cpu: 64 } });
    expect(world.plan({ resources: { cpu: 6, memory: GIB, disk: 0, ioSlots: 0 } }).nodeId).toBe('ample');
  });

  it('A-33 of several kinds of device that have room, the one is taken that wastes least', () => {
    const world = new World();
    world.node('a', { inventory });
    for (let count = 0; count < 64; count += 1) world.job(`j${count}`, asking(1, 0.5));
    world.reserve('j0', 'a', { gpus: [{ id: 'g0', share: 0.4, memory: GIB }] });
    // On g0 0.6 are free: 0.2 there would leave 0.4, of no use to halves; on g1 it leaves 0.8, which serves one.
    expect(world.plan(asking(1, 0.2)).contract?.gpus).toMatchObject([{ id: 'g1' }]);
    expect(world.plan(asking(1, 0.5)).contract?.gpus).toMatchObject([{ id: 'g0' }]);
  });

  it('A-33 equal states have equal values, whatever happened before, and remembered values are those worked out anew', () => {
    const step = fc.record({
      count: fc.constantFrom(1, 1, 1, 2),
      share: fc.constantFrom(0.3, 0.5, 1),
      node: fc.nat(2),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
        const world = new World();
        const ids = ['a', 'b', 'c'];
        for (const id of ids) world.node(id, { inventory });
        steps.forEach(({ count, share, node }, index) => {
          const spec = aJobSpec(asking(count, share));
          world.job(`j${index}`, spec);
          const at = world.cluster.nodes.get(ids[node]!)!;
          const choice = chooseDevices(at, demandOf(spec), 0, world.cluster.mix);
          if (!choice) return;
          const granted = choice.devices.map(({ id }) => ({ id, share, memory: share * 16 * GIB }));
          world.reserve(`j${index}`, at.id, { cpu: 1, memory: GIB, gpus: granted });
        });
        const { cluster } = world;
        for (const spec of [asking(1), asking(1, 0.3), asking(2), {}]) {
          const request = world.request(spec);
          const cold = { typical: [...cluster.mix.typical] };
          const seen = new Map<string, number>();
          for (const node of cluster.nodes.values()) {
            const warm = resources(node, request, 'pack', cluster.mix);
            expect(resources(node, request, 'pack', cold)).toEqual(warm);
            expect(warm.value).toBeGreaterThanOrEqual(0);
            expect(warm.value).toBeLessThanOrEqual(1);
            const state = JSON.stringify([node.used, node.devices.map(({ usedShare }) => usedShare).sort()]);
            expect(seen.get(state) ?? warm.value).toBe(warm.value);
            seen.set(state, warm.value);
          }
        }
      }),
      { numRuns: 60 },
    );
  });
});

describe('the mix of jobs', () => {
  const specs = [0.1, 0.2, 0.5, 1, 2].flatMap((cpu) => [
    aJobSpec({ resources: { cpu, memory: GIB, disk: 0, ioSlots: 0 } }),
    aJobSpec({
      resources: { cpu, memory: GIB, disk: 0, ioSlots: 0, gpu: { count: 1, share: 0.5, models: ['T4', 't4'] } },
    }),
  ]);
  const after = (arrivals: readonly number[]): JobMix => {
    const mix = emptyMix();
    for (const arrival of arrivals) jobArrived(mix, specs[arrival]!);
    return mix;
  };
  const arrivals = fc.array(fc.nat(specs.length - 1), { minLength: 1024, maxLength: 1024 });

  it('A-33 is the same in whatever order the jobs of an epoch came', () => {
    fc.assert(
      fc.property(arrivals, (drawn) => {
        const half = drawn.length / 2;
        const [first, second] = [drawn.slice(0, half), drawn.slice(half)];
        const { version, typical } = after(drawn);
        expect(after([...first, ...second.toReversed()])).toMatchObject({ version, typical });
      }),
      { numRuns: 10 },
    );
  });

  it('A-33 changes at 1, 2, 4 … 2048 arrivals and every 2048 from there', () => {
    const mix = emptyMix();
    const changes: number[] = [];
    for (let count = 1; count <= 9000; count += 1) {
      const { version } = mix;
      jobArrived(mix, specs[count % specs.length]!);
      if (mix.version !== version) changes.push(count);
    }
    expect(changes).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 6144, 8192]);
  });

  it('A-33 stays small whatever arrives, and forgets what came once', () => {
    const mix = emptyMix();
    for (let count = 0; count < 4096; count += 1)
      jobArrived(mix, aJobSpec({ resources: { cpu: count + 1, memory: GIB, disk: 0, ioSlots: 0 } }));
    expect(mix.counts.size).toBe(512);
    expect(mix.typical.length).toBeLessThan(140);
    for (let count = 0; count < 80_000; count += 1) jobArrived(mix, specs[0]!);
    expect(mix.counts.size).toBe(1);
    expect(JSON.parse(JSON.stringify(mix.typical))).toEqual(mix.typical);
  });
});
