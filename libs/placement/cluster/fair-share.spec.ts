import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { toMillis } from '#kernel';
import { aGpu, second } from '#testing';
import { GIB, World } from '../testing/world.js';
import { projectShare } from '../index.js';

const DAY = 86_400;

const shareAt = (world: World, project: string, seconds: number): number =>
  projectShare(world.cluster, project, toMillis(second(seconds)));

/** A job of the project holds so much of a node of 8 cores, 32 GiB and 4 GPUs from one time to another. */
const held = (world: World, project: string, contract: object, from: number, until?: number): void => {
  const jobId = `${project}-${String(world.events.length)}`;
  world.job(jobId, { project });
  const executionId = world.reserve(jobId, 'n1', contract, 0, second(from));
  if (until !== undefined) world.release('n1', executionId, second(until));
};

const aWorld = (): World => {
  const world = new World();
  const gpus = ['a', 'b', 'c', 'd'].map((id) => aGpu({ id }));
  world.node('n1', { inventory: { cpu: 8, memory: 32 * GIB, gpus } });
  return world;
};

describe("a project's share", () => {
  it('is its largest part of CPU, memory and GPUs', () => {
    const world = aWorld();
    held(world, 'cpu', { cpu: 4, memory: GIB }, 0);
    held(world, 'memory', { cpu: 1, memory: 8 * GIB }, 0);
    held(world, 'gpus', { cpu: 1, memory: GIB, gpus: [{ id: 'a', share: 1, memory: GIB }] }, 0);
    expect(['cpu', 'memory', 'gpus'].map((project) => shareAt(world, project, 0))).toEqual([0.25, 0.125, 0.125]);
    expect(shareAt(world, 'idle', 0)).toBe(0);
  });

  it('comes to what is held when that goes on, and is divided by the weight', () => {
    const world = aWorld();
    world.project({ projectId: 'heavy', weight: 2 });
    held(world, 'demo', { cpu: 4, memory: GIB }, 0);
    held(world, 'heavy', { cpu: 4, memory: GIB }, 0);
    expect(shareAt(world, 'demo', DAY)).toBeCloseTo(0.375, 9);
    expect(shareAt(world, 'demo', 30 * DAY)).toBeCloseTo(0.5, 6);
    expect(shareAt(world, 'heavy', 30 * DAY)).toBeCloseTo(0.25, 6);
  });

  it('is half forgotten a day after it ended', () => {
    const world = aWorld();
    held(world, 'demo', { cpu: 8, memory: GIB }, 0, DAY);
    expect(shareAt(world, 'demo', DAY)).toBeCloseTo(0.25, 9);
    expect(shareAt(world, 'demo', 2 * DAY)).toBeCloseTo(0.125, 9);
    expect(shareAt(world, 'demo', 5 * DAY)).toBeCloseTo(0.25 / 16, 9);
  });

  it('is the same whether a span is held at once or in many pieces', () => {
    const cuts = fc.array(fc.integer({ min: 1, max: 5 * DAY - 1 }), { maxLength: 20 });
    fc.assert(
      fc.property(cuts, (moments) => {
        const [whole, pieces] = [aWorld(), aWorld()];
        held(whole, 'demo', { cpu: 2, memory: GIB }, 0, 5 * DAY);
        const ends = [...new Set([0, ...moments, 5 * DAY])].sort((left, right) => left - right);
        ends.slice(1).forEach((end, index) => held(pieces, 'demo', { cpu: 2, memory: GIB }, ends[index]!, end));
        expect(shareAt(pieces, 'demo', 6 * DAY)).toBeCloseTo(shareAt(whole, 'demo', 6 * DAY), 9);
      }),
    );
  });

  it('is of what the enrolled nodes have now', () => {
    const world = aWorld();
    held(world, 'demo', { cpu: 4, memory: GIB }, 0);
    world.node('n2', { inventory: { cpu: 8, memory: 32 * GIB } });
    expect(shareAt(world, 'demo', 0)).toBe(0.125);
    const inventory = world.cluster.nodes.get('n2')!.inventory;
    world.onNode('n2', { type: 'NodeInventoryChanged', data: { inventory: { ...inventory, cpu: 24 }, at: second(1) } });
    expect(shareAt(world, 'demo', 0)).toBe(0.0625);
  });
});
