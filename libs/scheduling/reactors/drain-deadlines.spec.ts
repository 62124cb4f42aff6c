import { describe, expect, it } from '@jest/globals';
import { aPlacement, second } from '#testing';
import { AssignmentBoard } from '../view/assignment-board.js';
import { onFirst, SchedulingWorld } from '../testing/scheduling-world.js';
import type { WorldOptions } from '../testing/scheduling-world.js';
import { DrainDeadlines } from './drain-deadlines.js';

/** `j1` runs on `n1`, `j2` is reserved there and not confirmed, `j3` runs on `n2`. */
const busy = async (options: WorldOptions = {}): Promise<{ world: SchedulingWorld; drains: DrainDeadlines }> => {
  const world = await new SchedulingWorld(options).live();
  const drains = new DrainDeadlines(world);
  drains.start();
  for (const [jobId, nodeId] of Object.entries({ j1: 'n1', j2: 'n1', j3: 'n2' })) {
    await world.node(nodeId);
    await place(world, jobId, nodeId);
    if (jobId !== 'j2') await world.report(`${jobId}.1`, 'start');
  }
  await world.time.advanceAsync(0);
  return { world, drains };
};

const place = async (world: SchedulingWorld, jobId: string, nodeId: string): Promise<void> => {
  await world.submit(jobId);
  await world.job(jobId, aPlacement(1, 0, { jobId, nodeId, confirm: 600 }));
};

const drain = (world: SchedulingWorld, deadline?: number): Promise<unknown> => {
  const until = deadline === undefined ? {} : { deadline: second(deadline) };
  return world.onNode('n1', { type: 'DrainNode', reason: 'new disks', ...until, at: world.now() });
};

const asked = (world: SchedulingWorld): string[] =>
  ['j1', 'j2', 'j3'].filter(
    (jobId) => world.events(`job-${jobId}`, 'ExecutionStopRequested', 'ExecutionCancelled').length > 0,
  );

describe('the deadline of a drain', () => {
  it('stops what still runs there then, not before and not elsewhere, and says why', async () => {
    const { world } = await busy();
    await drain(world, 60);
    await world.time.advanceAsync(59_999);
    expect(asked(world)).toEqual([]);
    await world.time.advanceAsync(1);
    expect(asked(world)).toEqual(['j1', 'j2']);
    const [event] = world.events('job-j1', 'ExecutionStopRequested');
    expect(event?.data).toMatchObject({ cause: 'node-drained', reason: 'node n1 is drained: new disks' });
    expect(world.types('job-j2').slice(-2)).toEqual(['ExecutionCancelled', 'JobRequeued']);
    await world.time.advanceAsync(600_000);
    expect(world.events('job-j1', 'ExecutionStopRequested')).toHaveLength(1);
  });

  it('P-04 the node is told to stop, and R-04 its part of the job waits again without an attempt less', async () => {
    const world = new SchedulingWorld();
    const board = new AssignmentBoard(world.view, world.timers);
    await world.live();
    new DrainDeadlines(world).start();
    await world.node('n1');
    await place(world, 'j1', 'n1');
    await world.report('j1.1', 'start');
    await world.time.advanceAsync(0);
    const told = board.next('n1', board.desired('n1').revision, 25_000);
    await drain(world, 5);
    await world.time.advanceAsync(5_000);
    expect((await told).executions).toMatchObject([{ executionId: 'j1.1', stopRequested: true }]);
    await world.report('j1.1', 'fail', { class: 'cancelled', code: 'stopped', message: 'x' });
    expect(world.types('job-j1').slice(-2)).toEqual(['ExecutionCancelled', 'JobRequeued']);
    expect((await world.state('j1')).partitions[0]).toMatchObject({ state: 'waiting', failures: 0 });
    board.stop();
  });

  it('is none without one, moves with another drain, and is gone when the node takes work again', async () => {
    const { world } = await busy();
    await drain(world);
    await world.time.advanceAsync(600_000);
    await drain(world, 700);
    await drain(world, 900);
    await world.time.advanceAsync(200_000);
    await world.onNode('n1', { type: 'UncordonNode', at: world.now() });
    await world.time.advanceAsync(600_000);
    expect(asked(world)).toEqual([]);
  });

  it('is held to after a restart, also when it has passed meanwhile', async () => {
    for (const away of [10_000, 600_000]) {
      const { world, drains } = await busy();
      await drain(world, 60);
      await world.time.advanceAsync(0);
      drains.stop();
      await world.time.advanceAsync(away);
      const next = await new SchedulingWorld({ beside: world }).live();
      new DrainDeadlines(next).start();
      await world.time.advanceAsync(Math.max(0, 60_000 - away));
      expect(asked(world)).toEqual(['j1', 'j2']);
    }
  });

  it('reaches a reservation that was under way and appears after it', async () => {
    const { world } = await busy();
    await drain(world, 1);
    await world.time.advanceAsync(1_000);
    await place(world, 'j4', 'n1');
    await world.time.advanceAsync(0);
    expect(world.types('job-j4').slice(-2)).toEqual(['ExecutionCancelled', 'JobRequeued']);
  });

  it('is made up for when it could not be stored, or the store was away', async () => {
    const faults = onFirst('ExecutionStopRequested', { kind: 'fail-before-storing', after: 10 });
    const { world } = await busy({ faults });
    await drain(world, 1);
    await world.time.advanceAsync(1_100);
    expect(asked(world)).toEqual(['j2']);
    await world.time.advanceAsync(1_000);
    expect(asked(world)).toEqual(['j1', 'j2']);
    const { world: cut } = await busy();
    await drain(cut, 1);
    await cut.time.advanceAsync(0);
    cut.store.cutOff(5_000);
    await cut.time.advanceAsync(6_000);
    expect(asked(cut)).toEqual(['j1', 'j2']);
  });
});
