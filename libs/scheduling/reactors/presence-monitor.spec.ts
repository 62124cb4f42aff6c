import { describe, expect, it } from '@jest/globals';
import { aPlacement, aTargetChange } from '#testing';
import { onFirst, SchedulingWorld } from '../testing/scheduling-world.js';
import type { WorldOptions } from '../testing/scheduling-world.js';
import { PresenceMonitor } from './presence-monitor.js';

/** A node that is heard now, with a confirmed execution of `j1` on it. */
const watched = async (options: WorldOptions = {}): Promise<{ world: SchedulingWorld; monitor: PresenceMonitor }> => {
  const world = await new SchedulingWorld(options).live();
  await world.node('n1');
  await world.submit('j1');
  await world.job('j1', aPlacement(1, 0, { jobId: 'j1', nodeId: 'n1' }));
  await world.report('j1.1', 'confirm');
  await world.time.advanceAsync(0);
  const monitor = new PresenceMonitor(world);
  monitor.start();
  return { world, monitor };
};

const offline = (world: SchedulingWorld): number => world.events('node-n1', 'NodeWentOffline').length;
const lost = (world: SchedulingWorld): number => world.events('job-j1', 'ExecutionLost').length;

/** The node speaks every five seconds, as agents do. */
const beat = async (world: SchedulingWorld, seconds: number): Promise<void> => {
  for (let passed = 0; passed < seconds; passed += 5) {
    world.seen.set('n1', world.time.now());
    await world.time.advanceAsync(5_000);
  }
};

describe('the presence monitor', () => {
  it('A-27 A-28 A-81 takes a node that is silent for 15 s out, and records it once', async () => {
    const { world } = await watched();
    await beat(world, 60);
    expect(offline(world)).toBe(0);
    await world.time.advanceAsync(10_000);
    expect(offline(world)).toBe(0);
    await world.time.advanceAsync(30_000);
    expect(offline(world)).toBe(1);
  });

  it('S-08 A-46 gives what ran on a lost node back to the queue after 60 s more, and not a second before', async () => {
    const { world } = await watched();
    await world.time.advanceAsync(75_000);
    expect(lost(world)).toBe(0);
    await world.time.advanceAsync(1_100);
    expect(world.types('job-j1').slice(-2)).toEqual(['ExecutionLost', 'JobRequeued']);
    await world.time.advanceAsync(60_000);
    expect(lost(world)).toBe(1);
  });

  describe('with a part of a job that waits for this node alone', () => {
    const waiting = async (type: 'ops' | 'daemon', nodes: readonly string[] = ['n1']): Promise<SchedulingWorld> => {
      const world = await new SchedulingWorld().live();
      for (const node of nodes) await world.node(node);
      await world.submit('j1', { type });
      await world.job('j1', aTargetChange(nodes));
      await world.time.advanceAsync(0);
      new PresenceMonitor(world).start();
      return world;
    };

    it('S-04 S-08 gives that part up 60 s after the node went offline, and the job fails when it was the last', async () => {
      const world = await waiting('ops');
      await world.time.advanceAsync(75_000);
      expect((await world.state('j1')).ended).toBeUndefined();
      await world.time.advanceAsync(1_100);
      expect((await world.state('j1')).ending).toEqual({
        class: 'node-lost',
        code: 'nodes-failed',
        message: '1 of 1 nodes failed; the first, n1: node n1 was silent for 76 s',
      });
      await world.time.advanceAsync(300_000);
      expect(world.types('job-j1')).toEqual(['TargetsChanged', 'PartitionFailed', 'JobFailed']);
    });

    it('S-04 leaves the parts of other nodes, and the job, as they are', async () => {
      const world = await waiting('ops', ['n1', 'n2']);
      for (let passed = 0; passed < 100; passed += 5) {
        world.seen.set('n2', world.time.now());
        await world.time.advanceAsync(5_000);
      }
      const { partitions, ended } = await world.state('j1');
      expect([partitions.map(({ state }) => state), ended]).toEqual([['failed', 'waiting'], undefined]);
    });

    it('S-04 leaves one whose node came back in time', async () => {
      const world = await waiting('ops');
      await world.time.advanceAsync(70_000);
      await beat(world, 100);
      expect(world.types('job-j1')).toEqual(['TargetsChanged']);
    });

    it('S-05 leaves that of a daemon, which follows its nodes for ever', async () => {
      const world = await waiting('daemon');
      await world.time.advanceAsync(300_000);
      expect(world.types('job-j1')).toEqual(['TargetsChanged']);
    });
  });

  it('A-83 leaves a reservation that was not confirmed to its own deadline', async () => {
    const world = await new SchedulingWorld().live();
    await world.node('n1');
    await world.submit('j1');
    await world.job('j1', aPlacement(1, 0, { jobId: 'j1', nodeId: 'n1' }));
    await world.time.advanceAsync(0);
    new PresenceMonitor(world).start();
    await world.time.advanceAsync(200_000);
    expect([offline(world), lost(world)]).toEqual([1, 0]);
  });

  it('after a restart every node has its whole grace', async () => {
    const { world, monitor } = await watched();
    await world.time.advanceAsync(14_000);
    await monitor.stop();
    await world.time.advanceAsync(300_000);
    const next = await new SchedulingWorld({ beside: world }).live();
    new PresenceMonitor(next).start();
    await world.time.advanceAsync(15_000);
    expect([offline(world), lost(world)]).toEqual([0, 0]);
    await beat(world, 120);
    expect([offline(world), lost(world)]).toEqual([0, 0]);
    await world.time.advanceAsync(78_000);
    expect([offline(world), lost(world)]).toEqual([1, 1]);
  });

  it('while presence is out of reach nobody is silent', async () => {
    const { world } = await watched();
    world.presenceAway = true;
    await world.time.advanceAsync(300_000);
    world.presenceAway = false;
    await world.time.advanceAsync(14_000);
    expect([offline(world), lost(world)]).toEqual([0, 0]);
    await world.time.advanceAsync(3_000);
    expect(offline(world)).toBe(1);
  });

  it('while the event store is away nobody is silent', async () => {
    const { world } = await watched();
    world.store.cutOff(300_000);
    await world.time.advanceAsync(314_000);
    expect([offline(world), lost(world)]).toEqual([0, 0]);
    await world.time.advanceAsync(3_000);
    expect(offline(world)).toBe(1);
  });

  it('a slow answer about presence is not silence: what came since it was asked for is not in it', async () => {
    const { world } = await watched();
    world.presenceTakes = 20_000;
    await beat(world, 120);
    expect([offline(world), lost(world)]).toEqual([0, 0]);
  });

  it('a silence that could not be stored is made up for, and gives no other node time', async () => {
    const faults = onFirst('NodeWentOffline', { kind: 'fail-before-storing', after: 10 }, 3);
    const { world } = await watched({ faults });
    await world.node('n2');
    await world.time.advanceAsync(22_000);
    expect(offline(world)).toBe(1);
    expect(world.events('node-n2', 'NodeWentOffline')).toHaveLength(1);
  });
});
