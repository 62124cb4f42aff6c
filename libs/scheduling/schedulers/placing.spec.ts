import { describe, expect, it } from '@jest/globals';
import type { MemoryFaults } from '#event-store';
import type { Decision } from '#jobs';
import { anInventory } from '#testing';
import { onFirst, SchedulingWorld } from '../testing/scheduling-world.js';
import { MOST_ASSUMED } from './pass-gate.js';
import { MOST_PER_PASS } from './place.js';

const CORE = { resources: { cpu: 1, memory: 1, disk: 0, ioSlots: 0 } };

/** Each answer of a ledger takes its time. */
const slowClaims: MemoryFaults = {
  append: (_stream, events) =>
    events.some(({ type }) => type === 'CapacityReserved') ? { kind: 'delay-answer', by: 100 } : undefined,
};

/** Room for 600 cores, and on no node for more than it may have unconfirmed. */
const fleet = async (world: SchedulingWorld): Promise<void> => {
  for (let node = 1; node <= 10; node += 1) await world.node(`n${String(node)}`, { cpu: 60 });
};

const released = (world: SchedulingWorld, node: string): unknown[] =>
  world.events(`node-${node}`, 'CapacityReleased').map(({ data }) => (data as { cause: unknown }).cause);

describe('an evaluation', () => {
  it('A-17 A-38 A-39 claims capacity on the best node first, then records decision and reservation together', async () => {
    const world = new SchedulingWorld();
    await world.project();
    await world.node('n1');
    await world.looping();
    await world.submit('j1');
    await world.time.advanceAsync(1_000);
    const [claim] = world.events('node-n1', 'CapacityReserved');
    const [decision, reservation] = world.events('job-j1', 'PlacementDecided', 'ExecutionReserved');
    expect(decision?.data).toMatchObject({ number: 1, evaluationId: 'j1-1', trigger: 'JobSubmitted', winner: 'n1' });
    expect(reservation?.data).toMatchObject({ nodeId: 'n1', attempt: 1, fencingToken: 1 });
    expect((claim?.data as { executionId: string }).executionId).toBe((await world.execution('j1')).executionId);
    expect(claim!.position).toBeLessThan(decision!.position);
    expect(reservation?.revision).toBe(2n);
  });

  it('A-39 gives a claim back when the job has moved on meanwhile, and decides again', async () => {
    const world = new SchedulingWorld({ faults: onFirst('CapacityReserved', { kind: 'delay-answer', by: 500 }) });
    await world.project();
    await world.node('n1');
    await world.looping();
    await world.submit('j1');
    await world.time.advanceAsync(100);
    const other = new SchedulingWorld({ beside: world });
    await other.job('j1', { type: 'ChangePriority', priority: 60, at: world.now() });
    await world.time.advanceAsync(1_000);
    expect(world.types('node-n1')).toEqual(['CapacityReserved', 'CapacityReleased', 'CapacityReserved']);
    expect(released(world, 'n1')).toEqual(['superseded']);
    expect(world.types('job-j1')).toEqual(['JobPriorityChanged', 'PlacementDecided', 'ExecutionReserved']);
  });

  it('A-17 two control planes give a job to one node once', async () => {
    const first = new SchedulingWorld();
    await first.project();
    await first.node('n1');
    await first.node('n2');
    const second = new SchedulingWorld({ beside: first });
    await first.looping();
    await second.looping();
    for (const jobId of ['j1', 'j2', 'j3']) await first.submit(jobId);
    await first.time.advanceAsync(5_000);
    for (const jobId of ['j1', 'j2', 'j3']) expect(first.events(`job-${jobId}`, 'ExecutionReserved')).toHaveLength(1);
    const claims = first.memory.events.filter(({ type }) => type === 'CapacityReserved').length;
    expect(claims - released(first, 'n1').length - released(first, 'n2').length).toBe(3);
  });

  it('takes its own claims for granted while they are on their way, and names them in the decision', async () => {
    const world = new SchedulingWorld({ faults: onFirst('CapacityReserved', { kind: 'delay-answer', by: 500 }) });
    await world.project();
    await world.node('n1', { cpu: 1 });
    await world.looping();
    await world.submit('j1', CORE);
    await world.submit('j2', CORE);
    await world.time.advanceAsync(1_000);
    const { executionId } = await world.execution('j1');
    const [decision] = world.events('job-j2', 'PlacementDecided');
    expect(decision?.data).toMatchObject({ outcome: 'deferred' });
    expect([executionId, []]).toContainEqual((decision?.data as { assumed: unknown }).assumed);
    expect(world.events('node-n1', 'CapacityReserved')).toHaveLength(1);
  });

  it('makes a decision again when a claim that it took for granted failed', async () => {
    const faults = onFirst('CapacityReserved', { kind: 'fail-before-storing', after: 500 });
    const world = new SchedulingWorld({ faults });
    await world.project();
    await world.node('n1', { cpu: 1 });
    await world.looping();
    await world.submit('j1', CORE);
    await world.submit('j2', CORE);
    await world.time.advanceAsync(900);
    expect(world.types('job-j1')).toEqual([]);
    expect(world.types('job-j2')).toEqual(['PlacementDecided', 'ExecutionReserved']);
    expect(world.events('job-j2', 'PlacementDecided')[0]?.data).toMatchObject({ outcome: 'placed', assumed: [] });
  });

  it('A-46 places a job once when the answer to its reservation is lost', async () => {
    const world = new SchedulingWorld({ faults: onFirst('ExecutionReserved', { kind: 'lose-answer', after: 500 }) });
    await world.project();
    await world.node('n1');
    await world.looping();
    await world.submit('j1');
    await world.time.advanceAsync(10_000);
    expect(world.types('job-j1')).toEqual(['PlacementDecided', 'ExecutionReserved']);
    expect(world.types('node-n1')).toEqual(['CapacityReserved']);
  });

  it('a node that refuses is left to the newer state: another one takes the job', async () => {
    const world = new SchedulingWorld({ faults: onFirst('CapacityReserved', { kind: 'delay-request', by: 500 }) });
    await world.project();
    await world.node('n1', { cpu: 1 });
    await world.looping();
    await world.submit('j1', CORE);
    await world.time.advanceAsync(100);
    await new SchedulingWorld({ beside: world }).onNode('n1', { type: 'CordonNode', reason: 'x', at: world.now() });
    await world.node('n2', { cpu: 1 });
    await world.time.advanceAsync(1_000);
    expect((await world.execution('j1')).nodeId).toBe('n2');
    expect(world.types('node-n1')).toEqual(['NodeCordoned']);
  });

  it('S-06 plans as many for one job however many reservations of others are on their way', async () => {
    const world = new SchedulingWorld({ faults: slowClaims });
    await world.project();
    for (let node = 1; node <= 6; node += 1) await world.node(`n${String(node)}`, { cpu: 40 });
    await world.looping();
    const jobs = Array.from({ length: 12 }, (_, index) => `j${String(index)}`);
    await Promise.all(jobs.map((job) => world.submit(job, { ...CORE, count: 18 })));
    await world.time.advanceAsync(5_000);
    const named = jobs.map((job) => {
      const decisions = world.events(`job-${job}`, 'PlacementDecided').map(({ data }) => data as Decision);
      expect([decisions.length, new Set(decisions.map(({ evaluationId }) => evaluationId)).size]).toEqual([18, 1]);
      return Math.max(...decisions.map(({ assumed }) => assumed.length));
    });
    // Yet what a decision takes for granted, and names, has a bound.
    expect(Math.max(...named)).toBeGreaterThanOrEqual(MOST_ASSUMED);
    expect(Math.max(...named)).toBeLessThan(MOST_ASSUMED + MOST_PER_PASS);
  });

  it('S-02 S-06 places what fits of many partitions, at most 20 a pass, and the rest when there is room', async () => {
    const world = new SchedulingWorld();
    await world.project();
    await world.node('n1', { cpu: 25 });
    await world.looping();
    await world.submit('j1', { ...CORE, count: 30 });
    await world.time.advanceAsync(1_000);
    const placed = world
      .events('job-j1', 'ExecutionReserved')
      .map(({ data }) => (data as { partition: number }).partition);
    expect(placed).toEqual(Array.from({ length: 25 }, (_, index) => index));
    await world.node('n2', { cpu: 25 });
    await world.time.advanceAsync(1_000);
    expect(world.events('job-j1', 'ExecutionReserved')).toHaveLength(30);
  });

  it('S-06 a job of 500 partitions keeps no other waiting, though one evaluation is under way at a time', async () => {
    const world = new SchedulingWorld({ options: { workers: 1 } });
    await world.project();
    await world.project('small');
    await fleet(world);
    await world.submit('huge', { ...CORE, count: 500 });
    for (const jobId of ['s1', 's2', 's3']) await world.submit(jobId, { ...CORE, project: 'small' });
    await world.looping();
    await world.time.advanceAsync(5_000);
    const order = world.memory.events.filter(({ type }) => type === 'ExecutionReserved').map(({ stream }) => stream);
    expect(order).toHaveLength(503);
    for (const jobId of ['s1', 's2', 's3']) expect(order.indexOf(`job-${jobId}`)).toBeLessThan(25);
  });

  it('S-06 a huge job keeps no later one of its own project waiting either: each pass is another turn', async () => {
    const world = new SchedulingWorld({ options: { workers: 1 } });
    await world.project();
    await fleet(world);
    await world.submit('huge', { ...CORE, count: 500 });
    await world.time.advanceAsync(1_000);
    for (const jobId of ['s1', 's2', 's3']) await world.submit(jobId, CORE);
    await world.time.advanceAsync(1_000);
    await world.looping();
    await world.time.advanceAsync(5_000);
    const order = world.memory.events.filter(({ type }) => type === 'ExecutionReserved').map(({ stream }) => stream);
    expect(order).toHaveLength(503);
    expect(order.slice(0, 20)).toEqual(Array.from({ length: 20 }, () => 'job-huge'));
    for (const jobId of ['s1', 's2', 's3']) expect(order.indexOf(`job-${jobId}`)).toBeLessThan(45);
  });

  it('S-09 gives the reservation to the node that ranks best, though another answers sooner', async () => {
    const slowTo = (node: string): MemoryFaults => ({
      append: (stream, events) =>
        stream === `node-${node}` && events[0]?.type === 'CapacityReserved'
          ? { kind: 'delay-answer', by: 400 }
          : undefined,
    });
    const preferences = [{ constraint: 'rack = b', weight: 100 }];
    for (const slow of ['n1', 'n2', 'n3']) {
      const world = new SchedulingWorld({ faults: slowTo(slow) });
      await world.project();
      for (const node of ['n1', 'n2', 'n3']) await world.node(node, node === 'n2' ? { labels: { rack: 'b' } } : {});
      await world.looping();
      await world.submit('j1', { ...CORE, preferences });
      await world.time.advanceAsync(1_000);
      expect((await world.execution('j1')).nodeId).toBe('n2');
      const [decision] = world.events('job-j1', 'PlacementDecided');
      const { ranking } = decision?.data as Decision;
      expect(ranking[0]?.nodeId).toBe('n2');
      expect(ranking.map(({ score }) => score)).toEqual(ranking.map(({ score }) => score).toSorted((a, b) => b - a));
    }
  });

  it('A-88 records a deferral when its reasons change, not at each look', async () => {
    const world = new SchedulingWorld();
    await world.project();
    await world.node('n1', { cpu: 1 });
    await world.looping();
    await world.submit('j1', { resources: { ...CORE.resources, cpu: 2 } });
    await world.time.advanceAsync(10);
    for (const cpu of [1.25, 1.5]) {
      await world.onNode('n1', { type: 'ChangeInventory', inventory: anInventory({ cpu }), at: world.now() });
      await world.time.advanceAsync(10);
    }
    expect(world.types('job-j1')).toEqual(['PlacementDecided']);
    const inventory = anInventory({ cpu: 1.5, memory: 0 });
    await world.onNode('n1', { type: 'ChangeInventory', inventory, at: world.now() });
    await world.time.advanceAsync(10);
    expect(world.types('job-j1')).toEqual(['PlacementDecided', 'PlacementDecided']);
  });

  it('a quota of jobs stops new ones, and not the rest of one that it counts already', async () => {
    const world = new SchedulingWorld();
    await world.project('few', { jobs: 1 });
    await world.node('n1', { cpu: 1 });
    await world.looping();
    await world.submit('j1', { ...CORE, project: 'few', count: 2 });
    await world.time.advanceAsync(10);
    await world.submit('j2', { ...CORE, project: 'few' });
    await world.time.advanceAsync(10);
    await world.node('n2', { cpu: 1 });
    await world.time.advanceAsync(10);
    expect(world.events('job-j1', 'ExecutionReserved')).toHaveLength(2);
    expect(world.events('job-j2', 'ExecutionReserved')).toHaveLength(0);
  });

  it('a ledger that refuses what its node seems to have room for is not asked for ever, and the job says why', async () => {
    const world = new SchedulingWorld();
    await world.project();
    await world.node('n1');
    await world.looping();
    // The view is wrong, whatever the reason: it holds the node for larger than its ledger does.
    world.view.cluster.nodes.get('n1')!.total.cpu *= 100;
    await world.submit('j1', { resources: { ...CORE.resources, cpu: 50 } });
    await world.time.advanceAsync(10_000);
    expect(world.types('node-n1')).toEqual([]);
    expect(world.types('job-j1')).toEqual(['JobRequeued', 'PlacementDecided']);
    const [requeued, decided] = world.events('job-j1', 'JobRequeued', 'PlacementDecided');
    expect(requeued?.data).toMatchObject({ exclude: { nodeId: 'n1' }, cause: 'infrastructure' });
    expect((requeued?.data as { message: string }).message).toMatch(/^the ledger of n1 refused .* lacks cpu/);
    expect(decided?.data).toMatchObject({ outcome: 'deferred', filtered: [{ reason: 'node.excluded' }] });
  });

  it('A-22 a node that did not take three jobs in a row is set aside for a while, then tried with one', async () => {
    const world = new SchedulingWorld();
    await world.project();
    await world.node('n1', { cpu: 8 });
    await world.looping();
    const declined = async (jobId: string): Promise<void> => {
      await world.submit(jobId, CORE);
      await world.time.advanceAsync(10);
      await world.report((await world.execution(jobId)).executionId, 'decline', { reason: 'no room' });
      await world.time.advanceAsync(10);
    };
    for (const jobId of ['j1', 'j2', 'j3']) await declined(jobId);
    for (const jobId of ['j4', 'j5']) await world.submit(jobId, CORE);
    await world.time.advanceAsync(10);
    const [decision] = world.events('job-j4', 'PlacementDecided');
    expect(decision?.data).toMatchObject({ outcome: 'deferred', filtered: [{ reason: 'node.set-aside' }] });
    world.seen.set('n1', world.time.now() + 60_000);
    await world.time.advanceAsync(29_900);
    expect(world.events('job-j4', 'ExecutionReserved')).toHaveLength(0);
    await world.time.advanceAsync(200);
    const reservations = ['j4', 'j5'].map((jobId) => world.events(`job-${jobId}`, 'ExecutionReserved').length);
    expect(reservations).toEqual([1, 0]);
    await world.report((await world.execution('j4')).executionId, 'confirm');
    await world.time.advanceAsync(10);
    expect(world.events('job-j5', 'ExecutionReserved')).toHaveLength(1);
  });

  it('R-01 a backoff is waited out, for the partition that has one', async () => {
    const world = new SchedulingWorld();
    await world.project();
    await world.node('n1');
    await world.looping();
    await world.submit('j1', { ...CORE, count: 2 });
    await world.time.advanceAsync(10);
    const { executionId } = await world.execution('j1');
    await world.report(executionId, 'fail', { class: 'infrastructure', code: 'x', message: 'x', exitCode: 1 });
    await world.time.advanceAsync(9_900);
    expect(world.events('job-j1', 'ExecutionReserved')).toHaveLength(2);
    await world.time.advanceAsync(200);
    expect(world.events('job-j1', 'ExecutionReserved').at(-1)?.data).toMatchObject({ partition: 1, attempt: 2 });
  });
});

describe('a control plane that dies between the node and the job', () => {
  it('A-46 A-85 leaves a claim that another one fences off and gives back, and the job runs once', async () => {
    const dead: { world?: SchedulingWorld } = {};
    const faults: MemoryFaults = {
      append: (_stream, events) => {
        if (events[0]?.type !== 'PlacementDecided') return undefined;
        dead.world?.store.crash();
        return { kind: 'delay-request', by: 1 };
      },
    };
    const world = new SchedulingWorld({ faults });
    dead.world = world;
    const other = new SchedulingWorld({ beside: world });
    await other.project();
    await other.node('n1', { cpu: 1 });
    world.seen.set('n1', Number.MAX_SAFE_INTEGER);
    await other.submit('j1', CORE);
    await world.looping();
    expect(world.types('node-n1')).toEqual(['CapacityReserved']);
    await other.looping();
    await world.time.advanceAsync(14_000);
    expect(world.types('node-n1')).toEqual(['CapacityReserved']);
    await world.time.advanceAsync(12_000);
    expect(world.types('node-n1')).toEqual(['CapacityReserved', 'CapacityReleased', 'CapacityReserved']);
    expect(released(world, 'n1')).toEqual(['abandoned']);
    const { abandoned, executions } = await other.state('j1');
    expect([abandoned.length, Object.keys(executions).length]).toEqual([1, 1]);
  });
});
