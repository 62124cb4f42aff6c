import { describe, expect, it } from '@jest/globals';
import { aPlacement, second } from '#testing';
import type { Policy } from '#nodes';
import { onFirst, SchedulingWorld } from '../testing/scheduling-world.js';
import type { WorldOptions } from '../testing/scheduling-world.js';
import { MaintenanceStarts } from './maintenance-starts.js';

/** `j1` runs on `n1`, `j2` is reserved there and not confirmed, `j3` runs on `n2`. */
const busy = async (options: WorldOptions = {}): Promise<{ world: SchedulingWorld; starts: MaintenanceStarts }> => {
  const world = await new SchedulingWorld(options).live();
  const starts = new MaintenanceStarts(world);
  starts.start();
  for (const [jobId, nodeId] of Object.entries({ j1: 'n1', j2: 'n1', j3: 'n2' })) {
    await world.node(nodeId);
    await place(world, jobId, nodeId);
    if (jobId !== 'j2') await world.report(`${jobId}.1`, 'start');
  }
  await world.time.advanceAsync(0);
  return { world, starts };
};

const place = async (world: SchedulingWorld, jobId: string, nodeId: string): Promise<void> => {
  await world.submit(jobId);
  await world.job(jobId, aPlacement(1, 0, { jobId, nodeId, confirm: 6_000 }));
};

const upkeep = (from: number, until: number, reason = 'new disks') => ({
  from: second(from),
  until: second(until),
  reason,
});

const maintain = (world: SchedulingWorld, ...maintenance: NonNullable<Policy['maintenance']>): Promise<unknown> =>
  world.onNode('n1', { type: 'ChangePolicy', policy: { maintenance }, at: world.now() });

const asked = (world: SchedulingWorld, ...jobs: readonly string[]): string[] =>
  ['j1', 'j2', 'j3', ...jobs].filter(
    (jobId) => world.events(`job-${jobId}`, 'ExecutionStopRequested', 'ExecutionCancelled').length > 0,
  );

describe('the start of a maintenance', () => {
  it('A-46 asks off what still runs there then, not before and not elsewhere, and says why', async () => {
    const { world } = await busy();
    await maintain(world, upkeep(60, 120));
    await world.time.advanceAsync(59_999);
    expect(asked(world)).toEqual([]);
    await world.time.advanceAsync(1);
    expect(asked(world)).toEqual(['j1', 'j2']);
    const [event] = world.events('job-j1', 'ExecutionStopRequested');
    expect(event).toMatchObject({
      data: {
        cause: 'maintenance',
        reason: `node n1 is under maintenance until ${second(120)}: new disks`,
      },
      metadata: { actor: 'system:maintenance' },
    });
    expect(world.types('job-j2').slice(-2)).toEqual(['ExecutionCancelled', 'JobRequeued']);
    await world.time.advanceAsync(600_000);
    expect(world.events('job-j1', 'ExecutionStopRequested')).toHaveLength(1);
  });

  it('R-04 costs no attempt', async () => {
    const { world } = await busy();
    await maintain(world, upkeep(60, 120));
    await world.time.advanceAsync(60_000);
    await world.report('j1.1', 'fail', { class: 'cancelled', code: 'stopped', message: 'x' });
    expect(world.types('job-j1').slice(-2)).toEqual(['ExecutionCancelled', 'JobRequeued']);
    expect((await world.state('j1')).partitions[0]).toMatchObject({ state: 'waiting', failures: 0 });
  });

  it('comes again with the next one, and not for one that the owner took back', async () => {
    const { world } = await busy();
    await maintain(world, upkeep(60, 120), upkeep(300, 400, 'fans'), upkeep(500, 600));
    await world.time.advanceAsync(200_000);
    await place(world, 'j4', 'n1');
    await world.time.advanceAsync(100_000);
    expect(asked(world, 'j4')).toEqual(['j1', 'j2', 'j4']);
    await maintain(world);
    await world.time.advanceAsync(120_000);
    await place(world, 'j5', 'n1');
    await world.time.advanceAsync(600_000);
    expect(asked(world, 'j5')).toEqual(['j1', 'j2']);
  });

  it('reaches a reservation that was under way and appears after it', async () => {
    const { world } = await busy();
    await maintain(world, upkeep(1, 600));
    await world.time.advanceAsync(1_000);
    await place(world, 'j4', 'n1');
    await world.time.advanceAsync(0);
    expect(world.types('job-j4').slice(-2)).toEqual(['ExecutionCancelled', 'JobRequeued']);
  });

  it('is made up for after a restart, but not when it is over', async () => {
    for (const [away, expected] of [
      [10_000, ['j1', 'j2']],
      [90_000, ['j1', 'j2']],
      [130_000, []],
    ] as const) {
      const { world, starts } = await busy();
      await maintain(world, upkeep(60, 120));
      await world.time.advanceAsync(0);
      starts.stop();
      await world.time.advanceAsync(away);
      const next = await new SchedulingWorld({ beside: world }).live();
      new MaintenanceStarts(next).start();
      await world.time.advanceAsync(Math.max(0, 60_000 - away));
      expect(asked(world)).toEqual(expected);
    }
  });

  it('is made up for when it could not be stored', async () => {
    const faults = onFirst('ExecutionStopRequested', { kind: 'fail-before-storing', after: 10 });
    const { world } = await busy({ faults });
    await maintain(world, upkeep(1, 600));
    await world.time.advanceAsync(1_100);
    expect(asked(world)).toEqual(['j2']);
    await world.time.advanceAsync(1_000);
    expect(asked(world)).toEqual(['j1', 'j2']);
  });
});
