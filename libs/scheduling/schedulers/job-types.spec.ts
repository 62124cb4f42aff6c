import { describe, expect, it } from '@jest/globals';
import type { Decision, JobSpec } from '#jobs';
import type { NodeCommand } from '#nodes';
import { aJobSpec, anInventory } from '#testing';
import { onFirst, SchedulingWorld } from '../testing/scheduling-world.js';

const CORE: Partial<JobSpec> = { resources: { cpu: 1, memory: 1, disk: 0, ioSlots: 0 } };
const GPU_LABEL = { labels: { gpu: 'yes' } };

const worldOf = async (nodes: Readonly<Record<string, object>>): Promise<SchedulingWorld> => {
  const world = new SchedulingWorld({ options: { offlineAfter: 86_400_000 } });
  await world.project();
  for (const [node, inventory] of Object.entries(nodes)) await world.node(node, inventory);
  return world;
};

/** Where each partition has a live execution, as `partition:node`. */
const live = async (world: SchedulingWorld, jobId = 'j1'): Promise<string[]> => {
  const { executions } = await world.state(jobId);
  const states = ['reserved', 'confirmed', 'running', 'paused'];
  return Object.values(executions)
    .filter(({ state }) => states.includes(state))
    .map(({ partition, nodeId }) => `${String(partition)}:${nodeId}`)
    .sort();
};

const executionOn = async (world: SchedulingWorld, nodeId: string, jobId = 'j1'): Promise<string> => {
  const all = Object.values((await world.state(jobId)).executions).filter((one) => one.nodeId === nodeId);
  return all.at(-1)?.executionId ?? '';
};

const SUCCESS = { exitCode: 0, artifacts: [], consumption: {} };
const FAILURE = { class: 'application', code: 'exit-code', message: 'it failed', exitCode: 1 };

const runs = async (world: SchedulingWorld, nodeId: string): Promise<string> => {
  const executionId = await executionOn(world, nodeId);
  await world.report(executionId, 'start');
  return executionId;
};

const settle = (world: SchedulingWorld): Promise<void> => world.time.advanceAsync(100);

describe('a service', () => {
  const service = { ...CORE, type: 'service' as const, count: 2 };

  it('S-03 has its count of executions and never completes: one that ends, well or not, is replaced', async () => {
    const world = await worldOf({ n1: { cpu: 1 }, n2: { cpu: 1 } });
    await world.looping();
    await world.submit('j1', service);
    await settle(world);
    expect(await live(world)).toHaveLength(2);
    await world.report(await runs(world, 'n1'), 'succeed', SUCCESS);
    await world.report(await runs(world, 'n2'), 'fail', { ...FAILURE, class: 'infrastructure' });
    await settle(world);
    expect(await live(world)).toHaveLength(0);
    await world.time.advanceAsync(10_000);
    expect((await live(world)).map((one) => one.slice(0, 1))).toEqual(['0', '1']);
    expect((await world.state('j1')).ended).toBeUndefined();
  });
});

describe('an ops job', () => {
  const ops = { ...CORE, type: 'ops' as const, constraints: ['gpu = yes'] };

  it('S-04 runs once on every node that matches when it begins, and completes when all are done', async () => {
    const world = await worldOf({ n1: GPU_LABEL, n2: {}, n3: GPU_LABEL });
    await world.looping();
    await world.submit('j1', ops);
    await settle(world);
    expect(await live(world)).toEqual(['0:n1', '1:n3']);
    await world.node('n4', GPU_LABEL);
    await world.report(await runs(world, 'n1'), 'succeed', SUCCESS);
    await settle(world);
    expect(await live(world)).toEqual(['1:n3']);
    await world.report(await runs(world, 'n3'), 'succeed', SUCCESS);
    await settle(world);
    expect((await world.state('j1')).ended).toBe('completed');
    expect(world.events('job-j1', 'ExecutionReserved')).toHaveLength(2);
  });

  it('S-04 fails when any failed, after all have ended, with every result kept', async () => {
    const world = await worldOf({ n1: GPU_LABEL, n3: GPU_LABEL });
    await world.looping();
    await world.submit('j1', ops);
    await settle(world);
    await world.report(await runs(world, 'n1'), 'fail', FAILURE);
    await settle(world);
    expect((await world.state('j1')).ended).toBeUndefined();
    await world.report(await runs(world, 'n3'), 'succeed', SUCCESS);
    await settle(world);
    const job = await world.state('j1');
    expect([job.ended, job.ending?.message]).toEqual(['failed', '1 of 2 nodes failed; the first, n1: it failed']);
    expect(Object.values(job.executions).map(({ state }) => state)).toEqual(['failed', 'succeeded']);
  });

  it('S-04 fails when no node matches, with the reasons grouped', async () => {
    const world = await worldOf({ n1: {}, n2: {}, n3: { ...GPU_LABEL, cpu: 0.5 } });
    await world.looping();
    await world.submit('j1', ops);
    await settle(world);
    expect((await world.state('j1')).ending).toEqual({
      class: 'policy',
      code: 'no-matching-nodes',
      message: "none of 3 nodes matches (2: a constraint on the node's attributes does not hold; 1: not enough CPU)",
    });
    expect(world.types('job-j1')).toEqual(['JobFailed']);
  });

  it('S-04 A-88 a part waits for its node whatever becomes of it, and says at each turn what that lacks', async () => {
    const world = await worldOf({ n1: { ...GPU_LABEL, cpu: 1 }, n2: { ...GPU_LABEL, cpu: 2 } });
    await world.looping();
    await world.submit('other', { ...CORE, constraints: ['node.name = n1'] });
    await settle(world);
    await world.submit('j1', ops);
    await settle(world);
    await world.report(await runs(world, 'n2'), 'succeed', SUCCESS);
    const inventory = (change: object): object => ({ type: 'ChangeInventory', inventory: anInventory(change) });
    const lacks = async (change: object): Promise<readonly string[]> => {
      await world.onNode('n1', { ...change, at: world.now() } as NodeCommand);
      await settle(world);
      const { target, outcome, filtered } = world.events('job-j1', 'PlacementDecided').at(-1)?.data as Decision;
      expect(target).toBe('n1');
      return [outcome, ...filtered.map(({ reason, never }) => (never ? `${reason}!` : reason))];
    };
    expect(await lacks({ type: 'CordonNode', reason: 'x' })).toEqual(['deferred', 'node.cordoned', 'capacity.cpu']);
    expect(await lacks(inventory({ cpu: 1 }))).toEqual(['rejected', 'node.cordoned', 'constraint!', 'capacity.cpu']);
    expect(await lacks(inventory({ ...GPU_LABEL, cpu: 1 }))).toEqual(['deferred', 'node.cordoned', 'capacity.cpu']);
    const drain = { type: 'DrainNode', reason: 'x' };
    expect(await lacks(drain)).toEqual(['deferred', 'node.draining', 'node.cordoned', 'capacity.cpu']);
    expect(await lacks({ type: 'UncordonNode' })).toEqual(['deferred', 'capacity.cpu']);
    await world.report(await executionOn(world, 'n1', 'other'), 'succeed', SUCCESS);
    await settle(world);
    await world.report(await runs(world, 'n1'), 'succeed', SUCCESS);
    expect((await world.state('j1')).ended).toBe('completed');
    expect(world.events('job-j1', 'TargetsChanged')).toHaveLength(1);
  });

  it('S-04 S-06 waits for each of its nodes by itself: one without room keeps no other from its part', async () => {
    const world = await worldOf({ n1: { ...GPU_LABEL, cpu: 1 }, n3: GPU_LABEL });
    await world.looping();
    await world.submit('busy', { ...CORE, constraints: ['gpu = yes'], preferences: [] });
    await settle(world);
    const taken = (await world.execution('busy')).nodeId;
    await world.submit('j1', { ...ops, resources: { cpu: taken === 'n1' ? 1 : 8, memory: 1, disk: 0, ioSlots: 0 } });
    await settle(world);
    const waits = taken === 'n1' ? ['1:n3'] : [];
    expect(await live(world)).toEqual(waits);
    const [deferral] = world
      .events('job-j1', 'PlacementDecided')
      .filter(({ data }) => (data as Decision).outcome === 'deferred');
    expect(deferral?.data).toMatchObject({ target: taken, considered: 1 });
    await world.report((await world.execution('busy')).executionId, 'succeed', SUCCESS);
    await settle(world);
    expect((await live(world)).length).toBeGreaterThan(waits.length);
  });

  it('P-02 is looked at again by whoever comes next, though its nodes are not chosen yet', async () => {
    const world = new SchedulingWorld({ faults: onFirst('TargetsChanged', { kind: 'delay-request', by: 60_000 }) });
    await world.project();
    await world.node('n1', GPU_LABEL);
    await world.looping();
    await world.submit('j1', ops);
    await world.time.advanceAsync(10);
    world.store.crash();
    const next = new SchedulingWorld({ beside: world });
    await next.looping();
    await settle(next);
    expect(await live(next)).toEqual(['0:n1']);
  });
});

describe('a daemon', () => {
  const daemon = { ...CORE, type: 'daemon' as const, constraints: ['gpu = yes'], retry: { ...aJobSpec().retry } };

  it('S-05 is on every node that matches, and a node that joins later gets one within a second', async () => {
    const world = await worldOf({ n1: GPU_LABEL, n2: {} });
    await world.looping();
    await world.submit('j1', daemon);
    await settle(world);
    expect(await live(world)).toEqual(['0:n1']);
    await world.node('n3', GPU_LABEL);
    await world.time.advanceAsync(1_000);
    expect(await live(world)).toEqual(['0:n1', '1:n3']);
  });

  it('S-05 begins without any node, and is there when the first one matches', async () => {
    const world = await worldOf({ n1: {} });
    await world.looping();
    await world.submit('j1', daemon);
    await settle(world);
    expect(world.types('job-j1')).toEqual(['PlacementDecided']);
    await world.onNode('n1', { type: 'ChangeInventory', inventory: anInventory(GPU_LABEL), at: world.now() });
    await world.time.advanceAsync(1_000);
    expect(await live(world)).toEqual(['0:n1']);
  });

  it('S-05 says why no node matches, once for each change of the reasons, and again when it has lost its nodes', async () => {
    const world = await worldOf({ n1: {}, n2: { cpu: 0.5 } });
    const said = (): unknown[] =>
      world
        .events('job-j1', 'PlacementDecided')
        .map(({ data }) => data as Decision)
        .filter(({ outcome }) => outcome !== 'placed')
        .map(({ outcome, partition, considered, filtered }) => ({
          of: [outcome, partition, considered],
          reasons: filtered.flatMap(({ reason, nodes }) => (nodes > 0 ? [[reason, nodes]] : [])),
        }));
    await world.looping();
    await world.submit('j1', daemon);
    await settle(world);
    expect(said()).toEqual([{ of: ['rejected', 0, 2], reasons: [['constraint', 2]] }]);
    // Another node of the same kind is no news.
    await world.node('n3');
    await settle(world);
    expect(said()).toHaveLength(1);
    await world.onNode('n1', { type: 'ChangeInventory', inventory: anInventory(GPU_LABEL), at: world.now() });
    await settle(world);
    expect(await live(world)).toEqual(['0:n1']);
    await world.onNode('n1', { type: 'ChangeInventory', inventory: anInventory(), at: world.now() });
    await settle(world);
    expect(said().slice(1)).toEqual([{ of: ['rejected', 1, 3], reasons: [['constraint', 3]] }]);
  });

  it.each([
    [
      'loses its label',
      (world: SchedulingWorld) =>
        world.onNode('n1', { type: 'ChangeInventory', inventory: anInventory(), at: world.now() }),
      (world: SchedulingWorld) =>
        world.onNode('n1', { type: 'ChangeInventory', inventory: anInventory(GPU_LABEL), at: world.now() }),
    ],
    [
      "is refused by its owner's policy",
      (world: SchedulingWorld) =>
        world.onNode('n1', { type: 'ChangePolicy', policy: { deny: { projects: ['demo'] } }, at: world.now() }),
      (world: SchedulingWorld) => world.onNode('n1', { type: 'ChangePolicy', policy: {}, at: world.now() }),
    ],
  ] as const)('S-05 leaves a node that %s, and returns under the same number', async (_how, leave, comeBack) => {
    const world = await worldOf({ n1: GPU_LABEL, n3: GPU_LABEL });
    await world.looping();
    await world.submit('j1', daemon);
    await settle(world);
    const executionId = await runs(world, 'n1');
    await leave(world);
    await world.time.advanceAsync(1_000);
    const stop = world.events('job-j1', 'ExecutionStopRequested').map(({ data }) => data);
    expect(stop).toMatchObject([{ executionId, cause: 'no-longer-matches' }]);
    await world.report(executionId, 'fail', { class: 'cancelled', code: 'stopped', message: 'x' });
    await settle(world);
    expect(await live(world)).toEqual(['1:n3']);
    await comeBack(world);
    await world.time.advanceAsync(1_000);
    expect(await live(world)).toEqual(['0:n1', '1:n3']);
  });

  it("S-05 follows the owner's windows with the clock", async () => {
    const world = await worldOf({});
    const days = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
    const windows = [{ days, from: '00:10', to: '00:30', timeZone: 'UTC' }];
    await world.node('n1', GPU_LABEL, { policy: { windows: windows.map((one) => ({ ...one, days: [...days] })) } });
    await world.looping();
    await world.submit('j1', daemon);
    await world.time.advanceAsync(600_000 - (world.time.now() % 86_400_000) - 1_000);
    expect(await live(world)).toEqual([]);
    await world.time.advanceAsync(2_000);
    expect(await live(world)).toEqual(['0:n1']);
    await runs(world, 'n1');
    await world.time.advanceAsync(1_200_000);
    expect(world.events('job-j1', 'ExecutionStopRequested')).toHaveLength(1);
  });

  it('S-05 fails on a node as often as it may: it is tried again there after its backoff, and the job goes on', async () => {
    const world = await worldOf({ n1: GPU_LABEL });
    await world.looping();
    await world.submit('j1', { ...daemon, retry: { ...aJobSpec().retry, attempts: 1, backoff: 'constant' } });
    await settle(world);
    for (let failures = 0; failures < 4; failures += 1) {
      await world.report(await runs(world, 'n1'), 'fail', FAILURE);
      await settle(world);
      expect(await live(world)).toEqual([]);
      await world.time.advanceAsync(10_000);
      expect(await live(world)).toEqual(['0:n1']);
    }
    expect((await world.state('j1')).ended).toBeUndefined();
  });

  it('S-05 is woken for nodes that it does not have or has to lose, not for what happens elsewhere', async () => {
    const world = await worldOf({ n1: GPU_LABEL, n2: {} });
    await world.looping();
    await world.submit('j1', daemon);
    await settle(world);
    let looks = 0;
    world.observer.decided = () => (looks += 1);
    const before = world.memory.events.length;
    await world.onNode('n2', { type: 'CordonNode', reason: 'x', at: world.now() });
    await world.onNode('n2', { type: 'UncordonNode', at: world.now() });
    await world.onNode('n1', { type: 'CordonNode', reason: 'x', at: world.now() });
    await world.onNode('n1', { type: 'UncordonNode', at: world.now() });
    await settle(world);
    expect([looks, world.memory.events.length - before]).toEqual([0, 4]);
  });

  it('S-05 P-02 finds after a restart what joined and what left meanwhile', async () => {
    const world = await worldOf({ n1: GPU_LABEL, n2: GPU_LABEL });
    const first = await world.looping();
    await world.submit('j1', daemon);
    await settle(world);
    const executionId = await runs(world, 'n1');
    world.store.crash();
    void first.stop();
    const next = new SchedulingWorld({ beside: world, options: { offlineAfter: 86_400_000 } });
    await next.node('n3', GPU_LABEL);
    await next.onNode('n1', { type: 'ChangeInventory', inventory: anInventory(), at: world.now() });
    await next.looping();
    await settle(next);
    expect((await live(next)).slice(1)).toEqual(['1:n2', '2:n3']);
    expect((await next.state('j1')).executions[executionId]?.stopRequested).toBeDefined();
  });
});
