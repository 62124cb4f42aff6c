import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { BatchRequest, GpuRequest } from '#jobs';
import type { Contract } from '#nodes';
import { aJobSpec } from '#testing';
import { chooseContract, demandOf } from './index.js';
import { GIB, World } from './testing/world.js';

const chosen = (world: World, gpu?: Partial<GpuRequest>, batch?: BatchRequest, memory = GIB): Contract | undefined => {
  const request = gpu && { count: 1, share: 1, models: [], ...gpu };
  const resources = { cpu: 1, memory, disk: 0, ioSlots: 0, ...(request && { gpu: request }) };
  return chooseContract(
    world.cluster.nodes.get('a')!,
    demandOf(aJobSpec({ resources, ...(batch && { batch }) })),
    world.cluster.mix,
  );
};

const devices = (...memory: number[]) =>
  memory.map((size, index) => ({ id: `g${index}`, model: 'A100', memory: size * GIB }));

describe('the contract', () => {
  it('A-38 grants what was asked for', () => {
    const world = new World();
    world.node('a');
    expect(chosen(world)).toEqual({ cpu: 1, memory: GIB, disk: 0, ioSlots: 0, gpus: [] });
  });

  it('G-05 puts a share on the fullest GPU that has room, so that others stay whole', () => {
    const world = new World();
    world.node('a', { inventory: { gpus: devices(40, 40, 40) } });
    world.job('j');
    world.reserve('j', 'a', { gpus: [{ id: 'g1', share: 0.5, memory: GIB }] });
    world.reserve('j', 'a', { gpus: [{ id: 'g2', share: 0.8, memory: GIB }] });
    expect(chosen(world, { share: 0.2 })?.gpus).toMatchObject([{ id: 'g2', share: 0.2, memory: 8 * GIB }]);
    expect(chosen(world, { share: 0.4 })?.gpus).toMatchObject([{ id: 'g1', share: 0.4 }]);
    expect(chosen(world, { share: 0.6, memory: 2 * GIB })?.gpus).toEqual([{ id: 'g0', share: 0.6, memory: 2 * GIB }]);
  });

  it('G-05 gives whole GPUs that are empty, the smallest that will do, with all their memory', () => {
    const world = new World();
    world.node('a', { inventory: { gpus: devices(80, 16, 40) } });
    world.job('j');
    world.reserve('j', 'a', { gpus: [{ id: 'g1', share: 0.1, memory: GIB }] });
    expect(chosen(world, { memory: 8 * GIB })?.gpus).toEqual([{ id: 'g2', share: 1, memory: 40 * GIB }]);
    expect(chosen(world, { count: 2 })?.gpus.map(({ id }) => id)).toEqual(['g2', 'g0']);
    expect(chosen(world, { count: 3 })).toBeUndefined();
  });

  it('G-08 G-25 grants the batch that fits, with its memory, and no smaller one than the job accepts', () => {
    const world = new World();
    world.node('a', { inventory: { memory: 16 * GIB } });
    const batch = { size: 64, min: 4, memoryPerItem: GIB / 2, gpuMemoryPerItem: 0 };
    expect(chosen(world, undefined, { ...batch, size: 20 })).toMatchObject({ batchSize: 20, memory: 11 * GIB });
    expect(chosen(world, undefined, batch)).toMatchObject({ batchSize: 30, memory: 16 * GIB });
    expect(chosen(world, undefined, { ...batch, min: 31 })).toBeUndefined();
  });

  it('G-08 a batch is bounded by the memory of the GPUs too', () => {
    const world = new World();
    world.node('a', { inventory: { gpus: devices(40, 8) } });
    const batch = { size: 512, min: 1, memoryPerItem: 0, gpuMemoryPerItem: GIB };
    expect(chosen(world, {}, batch)).toMatchObject({ batchSize: 40, gpus: [{ id: 'g0' }] });
    expect(chosen(world, { count: 2 }, batch)).toMatchObject({ batchSize: 8 });
    expect(chosen(world, { share: 0.5, memory: 2 * GIB }, batch)).toMatchObject({
      batchSize: 38,
      gpus: [{ id: 'g0', share: 0.5, memory: 40 * GIB }],
    });
  });

  it('A-39 is never more than the node has free, whatever is asked', () => {
    const part = fc.integer({ min: 1, max: 1000 });
    const request = fc.record({
      count: fc.integer({ min: 1, max: 2 }),
      share: fc.oneof(fc.constant(1000), part),
      memory: fc.integer({ min: 0, max: 20 }),
      size: fc.integer({ min: 1, max: 40 }),
      perItem: fc.integer({ min: 0, max: 3 }),
    });
    fc.assert(
      fc.property(fc.array(request, { maxLength: 12 }), (requests) => {
        const world = new World();
        world.node('a', { inventory: { cpu: 100, memory: 64 * GIB, gpus: devices(40, 24, 16) } });
        world.job('j');
        for (const { count, share, memory, size, perItem } of requests) {
          const batch = { size, min: 1, memoryPerItem: perItem * GIB, gpuMemoryPerItem: GIB };
          const contract = chosen(world, { count, share: share / 1000, memory: memory * GIB }, batch);
          if (contract) world.reserve('j', 'a', contract);
        }
        const { total, used, devices: held } = world.cluster.nodes.get('a')!;
        expect(used.memory).toBeLessThanOrEqual(total.memory);
        for (const device of held) {
          expect(device.usedShare).toBeLessThanOrEqual(1000);
          expect(device.usedMemory).toBeLessThanOrEqual(device.memory);
        }
      }),
      { numRuns: 60 },
    );
  });
});
