import { describe, expect, it } from '@jest/globals';
import { aContract, aPlacement, aReservation, second } from '#testing';
import { executionIdOf } from '#jobs';
import { onFirst, SchedulingWorld } from '../testing/scheduling-world.js';
import type { WorldOptions } from '../testing/scheduling-world.js';
import { CapacityReleaser } from './capacity-releaser.js';

const claim = (world: SchedulingWorld, jobId: string, number = 1, contract = aContract()): Promise<unknown> => {
  const executionId = executionIdOf(jobId, String(number));
  return world.onNode('n1', aReservation(number, { executionId, jobId, contract, expiresAt: second(15) }));
};

/** A claim on `n1` and its reservation in the stream of `j1`. */
const held = async (options: WorldOptions = {}, contract = aContract()): Promise<SchedulingWorld> => {
  const world = await new SchedulingWorld(options).live();
  await world.node('n1');
  await world.submit('j1');
  await claim(world, 'j1', 1, contract);
  await world.job('j1', aPlacement(1, 0, { jobId: 'j1', nodeId: 'n1', contract }));
  await world.time.advanceAsync(0);
  return world;
};

const started = (world: SchedulingWorld): CapacityReleaser => {
  const releaser = new CapacityReleaser(world);
  releaser.start();
  return releaser;
};

const causes = (world: SchedulingWorld): unknown[] =>
  world.events('node-n1', 'CapacityReleased').map(({ data }) => (data as { cause: unknown }).cause);

const SUCCESS = { exitCode: 0, artifacts: [], consumption: {} };
const FAILURE = { class: 'application', code: 'x', message: 'x', exitCode: 1 };

describe('the capacity releaser', () => {
  it.each([
    ['succeeded', async (world: SchedulingWorld) => world.report('j1.1', 'succeed', SUCCESS)],
    ['failed', async (world: SchedulingWorld) => world.report('j1.1', 'fail', FAILURE)],
    ['declined', async (world: SchedulingWorld) => world.report('j1.1', 'decline', { reason: 'x' })],
    [
      'cancelled',
      (world: SchedulingWorld) => world.job('j1', { type: 'CancelJob', reason: 'x', byUser: true, at: world.now() }),
    ],
    [
      'expired',
      async (world: SchedulingWorld) => {
        await world.time.advanceAsync(15_000);
        await world.job('j1', { type: 'ExpireReservation', executionId: 'j1.1', at: world.now() });
      },
    ],
    [
      'lost',
      (world: SchedulingWorld) =>
        world.job('j1', { type: 'DeclareExecutionLost', executionId: 'j1.1', reason: 'x', at: world.now() }),
    ],
  ] as const)('G-30 gives back what %s, once and at once', async (cause, end) => {
    const world = await held();
    started(world);
    await world.time.advanceAsync(0);
    expect(causes(world)).toEqual([]);
    await end(world);
    await world.time.advanceAsync(1);
    expect(causes(world)).toEqual([cause]);
    await world.time.advanceAsync(60_000);
    expect(causes(world)).toEqual([cause]);
  });

  const LESS = { ...aContract(), memory: 1024, batchSize: 3 };
  const RESERVED = { ...aContract(), batchSize: 9 };
  const reduced = (world: SchedulingWorld): unknown[] =>
    world.events('node-n1', 'CapacityReduced').map(({ data }) => (data as { contract: unknown }).contract);

  it('G-25 gives back at once what a node confirmed to do without, and the rest in the end', async () => {
    const world = await held({}, RESERVED);
    started(world);
    await world.report('j1.1', 'confirm', { contract: LESS });
    await world.time.advanceAsync(1);
    expect([reduced(world), causes(world)]).toEqual([[LESS], []]);
    expect(world.view.cluster.nodes.get('n1')?.used.memory).toBe(1024);
    await world.report('j1.1', 'succeed', SUCCESS);
    await world.time.advanceAsync(60_000);
    expect([reduced(world).length, causes(world)]).toEqual([1, ['succeeded']]);
    expect(world.view.cluster.nodes.get('n1')?.used.memory).toBe(0);
  });

  it('G-25 gives back at its start what was confirmed with less while nobody looked, once', async () => {
    const world = await held({}, RESERVED);
    await world.report('j1.1', 'confirm', { contract: LESS });
    await world.time.advanceAsync(0);
    const first = started(world);
    await world.time.advanceAsync(0);
    expect(reduced(world)).toEqual([LESS]);
    await first.stop();
    started(world);
    await world.time.advanceAsync(60_000);
    expect([reduced(world).length, causes(world)]).toEqual([1, []]);
  });

  it('G-25 makes up for a reduction that could not be stored, and reduces once when its answer is lost', async () => {
    for (const kind of ['fail-before-storing', 'lose-answer'] as const) {
      const world = await held({ faults: onFirst('CapacityReduced', { kind, after: 10 }) }, RESERVED);
      started(world);
      await world.report('j1.1', 'confirm', { contract: LESS });
      await world.time.advanceAsync(60_000);
      expect(reduced(world)).toEqual([LESS]);
    }
  });

  it('G-25 what has ended before its reduction is only released', async () => {
    const world = await held({}, RESERVED);
    await world.report('j1.1', 'confirm', { contract: LESS });
    await world.report('j1.1', 'succeed', SUCCESS);
    await world.time.advanceAsync(0);
    started(world);
    await world.time.advanceAsync(60_000);
    expect([reduced(world), causes(world)]).toEqual([[], ['succeeded']]);
  });

  it('leaves alone what lives, however long', async () => {
    const world = await held();
    started(world);
    await world.report('j1.1', 'start');
    await world.time.advanceAsync(3_600_000);
    expect(causes(world)).toEqual([]);
  });

  it('gives back at its start what ended while nobody looked', async () => {
    const world = await held();
    await world.report('j1.1', 'succeed', SUCCESS);
    await world.time.advanceAsync(0);
    started(world);
    await world.time.advanceAsync(0);
    expect(causes(world)).toEqual(['succeeded']);
  });

  it('A-46 fences off a claim that never reached its job, when its time is over, and gives it back', async () => {
    const world = await held();
    await claim(world, 'j1', 2);
    started(world);
    await world.time.advanceAsync(14_999);
    expect([causes(world), (await world.state('j1')).abandoned]).toEqual([[], []]);
    await world.time.advanceAsync(10_000);
    expect([causes(world), (await world.state('j1')).abandoned]).toEqual([['abandoned'], ['j1.2']]);
    const late = await world.job('j1', aPlacement(2, 30, { jobId: 'j1', nodeId: 'n1', number: 2 }));
    expect(late).toMatchObject({ kind: 'rejected', rejection: { code: 'DECISION_OUTDATED' } });
  });

  it('gives back the claim of a job that there never was', async () => {
    const world = await held();
    await claim(world, 'nobody');
    started(world);
    await world.time.advanceAsync(30_000);
    expect(causes(world)).toEqual(['abandoned']);
  });

  it('makes up for a release that could not be stored', async () => {
    const world = await held({ faults: onFirst('CapacityReleased', { kind: 'fail-before-storing', after: 10 }) });
    started(world);
    await world.time.advanceAsync(0);
    await world.report('j1.1', 'succeed', SUCCESS);
    await world.time.advanceAsync(100);
    expect(causes(world)).toEqual([]);
    await world.time.advanceAsync(10_000);
    expect(causes(world)).toEqual(['succeeded']);
  });

  it('releases once when the answer to a release is lost', async () => {
    const world = await held({ faults: onFirst('CapacityReleased', { kind: 'lose-answer', after: 10 }) });
    started(world);
    await world.time.advanceAsync(0);
    await world.report('j1.1', 'succeed', SUCCESS);
    await world.time.advanceAsync(60_000);
    expect(causes(world)).toEqual(['succeeded']);
  });

  it('a claim that cannot be settled keeps no other waiting', async () => {
    const unreadable = {
      read: (stream: string) => (stream === 'job-bad' ? ({ kind: 'fail', after: 1 } as const) : undefined),
    };
    const world = await held({ faults: unreadable });
    await claim(world, 'bad', 8);
    await claim(world, 'nobody', 9);
    started(world);
    await world.time.advanceAsync(30_000);
    expect(causes(world)).toEqual(['abandoned']);
  });
});
