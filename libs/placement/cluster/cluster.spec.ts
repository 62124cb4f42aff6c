import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { toMillis } from '#kernel';
import type { FailureClass } from '#jobs';
import { aContract, aGpu, second } from '#testing';
import {
  applyEvent,
  assume,
  desiredOf,
  emptyCluster,
  freeCapacity,
  liveExecutions,
  placeablePartitions,
  unassume,
} from '../index.js';
import { GIB, World } from '../testing/world.js';
import { decay, HALF_LIFE } from './decay.js';
import { ENDED_JOBS_KEPT } from './state.js';
import { presenceShare } from './uptime.js';

const node = (world: World, id = 'a') => world.cluster.nodes.get(id)!;

describe('the books', () => {
  it('A-30 are exact: 0.1 and 0.2 cores of 0.3 leave nothing, and releases leave all', () => {
    const world = new World();
    world.node('a', { inventory: { cpu: 0.3 } });
    world.job('j', { count: 2 });
    const first = world.reserve('j', 'a', { cpu: 0.1 });
    const second = world.reserve('j', 'a', { cpu: 0.2 }, 1);
    expect(freeCapacity(node(world)).cpu).toBe(0);
    world.release('a', first);
    expect(freeCapacity(node(world)).cpu).toBe(0.1);
    world.release('a', second);
    expect(freeCapacity(node(world)).cpu).toBe(0.3);
    expect(world.cluster.usage.size).toBe(0);
    expect(node(world).projectCpu.size).toBe(0);
  });

  it('A-30 count GPUs by device, in thousandths of a share and bytes', () => {
    const world = new World();
    const gpus = ['g0', 'g1'].map((id) => ({ id, model: 'A100', memory: 40 * GIB }));
    world.node('a', { inventory: { gpus } });
    world.job('j');
    const held = world.reserve('j', 'a', { gpus: [{ id: 'g1', share: 0.35, memory: 10 * GIB }] });
    const [, busy] = freeCapacity(node(world)).gpus;
    expect(busy).toMatchObject({ share: 0.65, memory: 30 * GIB });
    expect(world.cluster.usage.get('demo')).toMatchObject({ gpus: 350 });
    world.release('a', held);
    expect(node(world).usedShares).toBe(0);
  });

  it('A-30 follow an inventory that changes under live reservations', () => {
    const world = new World();
    world.node('a', { inventory: { cpu: 8, gpus: [{ id: 'g0', model: 'T4', memory: GIB }] } });
    world.job('j');
    const held = world.reserve('j', 'a', { cpu: 4, gpus: [{ id: 'g0', share: 1, memory: GIB }] });
    const inventory = { ...node(world).inventory, cpu: 2, gpus: [{ id: 'g9', model: 'T4', memory: GIB }] };
    world.onNode('a', { type: 'NodeInventoryChanged', data: { inventory, at: second(1) } });
    expect(freeCapacity(node(world))).toMatchObject({ cpu: 0, gpus: [{ id: 'g9', share: 1 }] });
    world.release('a', held);
    expect(freeCapacity(node(world))).toMatchObject({ cpu: 2, gpus: [{ id: 'g9', share: 1 }] });
    expect(node(world).usedShares).toBe(0);
  });

  it('A-39 count an assumed reservation once, before and after its event', () => {
    const world = new World();
    world.node('a');
    world.job('j');
    const contract = { cpu: 3, memory: GIB, disk: 0, ioSlots: 0, gpus: [] };
    assume(world.cluster, { executionId: 'j.1', nodeId: 'a', jobId: 'j', project: 'demo', contract });
    assume(world.cluster, { executionId: 'j.1', nodeId: 'a', jobId: 'j', project: 'demo', contract });
    expect(freeCapacity(node(world)).cpu).toBe(5);
    expect([...world.cluster.assumed.keys()]).toEqual(['j.1']);
    world.reserve('j', 'a', contract);
    expect(freeCapacity(node(world)).cpu).toBe(5);
    expect(world.cluster.assumed.size).toBe(0);
    unassume(world.cluster, 'j.1');
    expect(freeCapacity(node(world)).cpu).toBe(5);
  });

  it('A-39 give an assumed reservation back when it did not come true', () => {
    const world = new World();
    world.node('a');
    const before = freeCapacity(node(world));
    const contract = { cpu: 3, memory: GIB, disk: 0, ioSlots: 0, gpus: [] };
    assume(world.cluster, { executionId: 'j.1', nodeId: 'a', jobId: 'j', project: 'demo', contract });
    unassume(world.cluster, 'j.1');
    unassume(world.cluster, 'j.1');
    expect(freeCapacity(node(world))).toEqual(before);
    expect(node(world).waiting).toBe(0);
    expect(world.cluster.usage.size).toBe(0);
  });

  it('G-25 A-39 hold less from when less was confirmed, and give back only that', () => {
    const world = new World();
    world.node('a', { inventory: { memory: 16 * GIB, gpus: [aGpu({ id: 'g0', memory: 16 * GIB })] } });
    world.job('j');
    const gpu = (size: number) => [{ id: 'g0', share: 0.5, memory: size * GIB }];
    const contract = aContract({ memory: 12 * GIB, batchSize: 8, gpus: gpu(8) });
    const executionId = world.reserve('j', 'a', contract);
    const less = { ...contract, memory: 6 * GIB, batchSize: 4, gpus: gpu(4) };
    world.onJob('j', { type: 'ReservationConfirmed', data: { executionId, contract: less, at: second(1) } });
    expect(world.cluster.jobs.get('j')?.executions.get(executionId)?.contract).toEqual(less);
    expect(freeCapacity(node(world)).memory).toBe(4 * GIB);
    world.onNode('a', { type: 'CapacityReduced', data: { executionId, contract: less, at: second(2) } });
    expect(freeCapacity(node(world))).toMatchObject({ memory: 10 * GIB, gpus: [{ memory: 12 * GIB, share: 0.5 }] });
    expect(world.cluster.usage.get('demo')).toMatchObject({ memory: 6 * GIB });
    expect(world.cluster.consumption.get('demo')?.held).toMatchObject({ memory: 6 * GIB });
    expect([node(world).waiting, node(world).ledger.size]).toEqual([1, 1]);
    world.release('a', executionId);
    expect(freeCapacity(node(world))).toMatchObject({ memory: 16 * GIB, gpus: [{ memory: 16 * GIB, share: 1 }] });
    expect(world.cluster.usage.size).toBe(0);
    world.onNode('a', { type: 'CapacityReduced', data: { executionId, contract: less, at: second(3) } });
    expect(freeCapacity(node(world)).memory).toBe(16 * GIB);
  });

  it('A-35 count what waits on a node until its task has begun', () => {
    const world = new World();
    world.node('a');
    world.job('j');
    const executionId = world.reserve('j', 'a');
    expect(node(world).waiting).toBe(1);
    world.onJob('j', { type: 'ReservationConfirmed', data: { executionId, at: second(1) } });
    expect(node(world).waiting).toBe(1);
    world.onJob('j', { type: 'ExecutionStarted', data: { executionId, at: second(2) } });
    expect(node(world).waiting).toBe(0);
    world.release('a', executionId);
    expect(node(world).waiting).toBe(0);
  });

  it('A-39 any sequence of reservations, assumptions and releases ends where it began', () => {
    const amount = fc.record({ cpu: fc.integer({ min: 0, max: 999 }), memory: fc.nat(1e9), assumed: fc.boolean() });
    fc.assert(
      fc.property(fc.array(amount, { maxLength: 12 }), (amounts) => {
        const world = new World();
        world.node('a');
        world.job('j', { count: 20 });
        const before = freeCapacity(node(world));
        const ids = amounts.map(({ cpu, memory, assumed }, index) => {
          const contract = { cpu: cpu / 1000, memory, disk: 1, ioSlots: 0, gpus: [] };
          if (!assumed) return world.reserve('j', 'a', contract);
          assume(world.cluster, { executionId: `x.${index}`, nodeId: 'a', jobId: 'x', project: 'demo', contract });
          return `x.${index}`;
        });
        const sum = amounts.reduce((total, { cpu }) => total + cpu, 0);
        expect(node(world).used.cpu).toBe(sum);
        for (const id of ids) if (id.startsWith('x.')) unassume(world.cluster, id);
        for (const id of ids) world.release('a', id);
        expect(freeCapacity(node(world))).toEqual(before);
      }),
      { numRuns: 50 },
    );
  });
});

describe('the fold', () => {
  const busyWorld = (): World => {
    const world = new World();
    for (const id of ['a', 'b', 'c']) world.node(id);
    world.job('j', { count: 3, application: { name: 'node' } });
    const executionId = world.reserve('j', 'a');
    world.onJob('j', { type: 'ExecutionStarted', data: { executionId, at: second(3) } });
    world.reserve('j', 'b', { cpu: 2 }, 1);
    world.run('c', 'infrastructure', { application: { name: 'node' } }, second(5));
    world.run('c', 'success', {}, second(3600));
    world.onNode('b', { type: 'NodeCordoned', data: { reason: 'disk', at: second(7) } });
    world.onNode('a', { type: 'NodeWentOffline', data: { lastSeenAt: second(8), reason: 'silent', at: second(23) } });
    world.onJob('j', { type: 'JobPaused', data: { reason: 'wait', at: second(30) } });
    return world;
  };

  it('A-21 gives the same state in one go, in parts, and when events are told twice', () => {
    const { events, cluster } = busyWorld();
    fc.assert(
      fc.property(fc.array(fc.nat(events.length), { maxLength: 6 }), (repeats) => {
        const again = emptyCluster();
        events.forEach((event, index) => {
          applyEvent(again, event);
          if (repeats.includes(index)) for (const earlier of events.slice(0, index + 1)) applyEvent(again, earlier);
        });
        expect(again).toEqual(cluster);
      }),
      { numRuns: 20 },
    );
  });

  it('A-21 knows the position of the last event, also of one that placement does not need', () => {
    const { cluster } = busyWorld();
    const { position } = cluster;
    applyEvent(cluster, { stream: 'job-j', revision: 99n, position: position + 7n, type: 'SomethingNew', data: {} });
    applyEvent(cluster, { stream: 'other-1', revision: 0n, position: position + 14n, type: 'X', data: {} });
    expect(cluster.position).toBe(position + 14n);
  });

  it('A-27 presence has a beginning, and its share of the past decays', () => {
    const world = new World();
    world.node('a');
    world.onNode('a', { type: 'NodeWentOffline', data: { lastSeenAt: second(90), reason: 'silent', at: second(100) } });
    expect(node(world)).toMatchObject({ online: false, since: second(100), lastSeenAt: second(90) });
    const day = 86_400;
    const down = presenceShare(node(world).uptime, toMillis(second(3 * day)));
    world.onNode('a', { type: 'NodeWentOnline', data: { at: second(3 * day) } });
    expect(node(world)).toMatchObject({ online: true, since: second(3 * day) });
    const later = presenceShare(node(world).uptime, toMillis(second(30 * day)));
    expect(down).toBeLessThan(0.3);
    expect(later).toBeGreaterThan(0.95);
  });

  it('A-46 an ended job is gone, and telling its beginning again does not bring it back', () => {
    const world = new World();
    world.job('j');
    world.onJob('j', { type: 'JobCancelled', data: { reason: 'asked', at: second(1) } });
    expect(world.cluster.jobs.has('j')).toBe(false);
    for (const event of world.events) applyEvent(world.cluster, event);
    expect(world.cluster.jobs.has('j')).toBe(false);
    expect(ENDED_JOBS_KEPT).toBeGreaterThan(1000);
  });

  it('A-44 what an ended job still runs stays with its node until it is over', () => {
    const world = new World();
    world.node('a');
    world.job('j', { count: 2 });
    const executionId = world.reserve('j', 'a');
    const failure = { class: 'application' as const, code: 'exit-code', message: 'exit 1' };
    world.onJob('j', { type: 'JobFailed', data: { ...failure, at: second(5) } });
    expect(liveExecutions(world.cluster, 'a')).toMatchObject([{ executionId, jobId: 'j', state: 'reserved' }]);
    world.onJob('j', { type: 'ExecutionCancelled', data: { executionId, reason: 'stopped', at: second(6) } });
    expect(liveExecutions(world.cluster, 'a')).toEqual([]);
  });

  it('A-90 follows a partition from waiting to live, back with its backoff, and to done', () => {
    const world = new World();
    world.node('a');
    world.job('j');
    const job = world.cluster.jobs.get('j')!;
    expect(placeablePartitions(job, second(0))).toEqual([0]);
    const executionId = world.reserve('j', 'a');
    expect(placeablePartitions(job, second(0))).toEqual([]);
    expect(liveExecutions(world.cluster, 'a')).toMatchObject([{ executionId, fencingToken: 1, state: 'reserved' }]);
    world.onJob('j', { type: 'ExecutionLost', data: { executionId, reason: 'silent', at: second(1) } });
    world.onJob('j', {
      type: 'JobRequeued',
      data: { partition: 0, cause: 'node-lost', message: 'x', notBefore: second(11), avoid: 'a', at: second(1) },
    });
    expect(placeablePartitions(job, second(10))).toEqual([]);
    expect(placeablePartitions(job, second(11))).toEqual([0]);
    expect(job.partitions[0]!.avoid).toEqual(['a']);
    const again = world.reserve('j', 'a');
    const consumption = {
      cpuSeconds: 1,
      wallSeconds: 1,
      maxMemory: 1,
      maxDisk: 1,
      gpuSeconds: 0,
      bytesIn: 0,
      bytesOut: 0,
    };
    const result = { executionId: again, exitCode: 0, artifacts: [], consumption, at: second(20) };
    world.onJob('j', { type: 'ExecutionSucceeded', data: result });
    expect(job.partitions[0]!.state).toBe('done');
    expect(liveExecutions(world.cluster, 'a')).toEqual([]);
  });

  it('A-100 tells what an agent is to do with the executions of a job', () => {
    const world = new World();
    world.job('j');
    const job = world.cluster.jobs.get('j')!;
    expect(desiredOf(job)).toBe('run');
    world.onJob('j', { type: 'JobPaused', data: { reason: 'wait', at: second(1) } });
    expect(desiredOf(job)).toBe('pause');
    expect(placeablePartitions(job, second(1))).toEqual([]);
    world.onJob('j', { type: 'JobCancelRequested', data: { reason: 'asked', byUser: true, at: second(2) } });
    expect(desiredOf(job)).toBe('stop');
  });

  it('G-55 a job that waits for others is not in the queue, and enters it when they have ended as asked', () => {
    const world = new World();
    world.job('parent');
    world.job('j', { dependsOn: [{ job: 'parent', when: 'completed' }] });
    const job = world.cluster.jobs.get('j')!;
    expect([job.blocked, placeablePartitions(job, second(9))]).toEqual([true, []]);
    world.onJob('parent', { type: 'JobCompleted', data: { at: second(3) } });
    expect(job.blocked).toBe(true);
    const dependencies = [{ job: 'parent', outcome: 'completed' as const }];
    world.onJob('j', { type: 'DependenciesMet', data: { dependencies, at: second(4) } });
    expect(job).toMatchObject({ blocked: false, queuedAt: second(4) });
    expect(placeablePartitions(job, second(9))).toEqual([0]);
  });
});

describe('the track record', () => {
  const streakAfter = (outcome: FailureClass): number => {
    const world = new World();
    world.node('a');
    world.run('a', outcome);
    return node(world).record.streak;
  };

  it('A-34 counts against a node only what the node brought about', () => {
    const full: FailureClass[] = ['infrastructure', 'node-lost', 'timeout'];
    const little: FailureClass[] = ['expired', 'declined'];
    const none: FailureClass[] = ['application', 'input', 'cancelled', 'resource', 'policy'];
    expect(full.map(streakAfter)).toEqual([1, 1, 1]);
    expect(little.map(streakAfter)).toEqual([0.25, 0.25]);
    expect(none.map(streakAfter)).toEqual([0, 0, 0, 0, 0]);
  });

  it('A-34 counts an outage once, however many executions it took', () => {
    const world = new World();
    world.node('a');
    for (let count = 0; count < 5; count += 1) world.run('a', 'node-lost');
    expect(node(world).record.failure).toBe(1);
    world.onNode('a', { type: 'NodeWentOffline', data: { lastSeenAt: second(0), reason: 'silent', at: second(0) } });
    world.onNode('a', { type: 'NodeWentOnline', data: { at: second(0) } });
    world.run('a', 'node-lost');
    expect(node(world).record.failure).toBe(2);
  });

  it('A-34 is kept by application too, and ages by event time', () => {
    const world = new World();
    world.node('a');
    world.run('a', 'infrastructure', { application: { name: 'r' } }, second(0));
    world.run('a', 'success', { application: { name: 'node' } }, second(HALF_LIFE / 1000));
    expect(node(world).record).toMatchObject({ success: 1, failure: 0.5, streak: 0 });
    expect(node(world).applicationRecords.get('r')).toMatchObject({ success: 0, failure: 1, streak: 1 });
    expect(node(world).applicationRecords.get('node')).toMatchObject({ success: 1, failure: 0 });
  });

  it('A-34 halves with each half-life, without a jump and without a floating surprise', () => {
    expect([0, 1, 2, 3].map((count) => decay(count * HALF_LIFE))).toEqual([1, 0.5, 0.25, 0.125]);
    expect(decay(HALF_LIFE * 1.5)).toBe(0.375);
    expect(decay(-5)).toBe(1);
    expect(decay(HALF_LIFE - 1)).toBeGreaterThan(0.5);
  });
});
