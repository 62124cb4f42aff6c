import { describe, expect, it } from '@jest/globals';
import type { JobSpec } from '#jobs';
import { jobStream } from '#jobs';
import { onFirst, SchedulingWorld } from './testing/scheduling-world.js';
import { scripted } from './testing/scripted-scheduler.js';
import type { EvaluationOutcome } from './worker/job-scheduler.js';

const nodeOf = async (world: SchedulingWorld, jobId: string): Promise<string> => (await world.execution(jobId)).nodeId;

describe('the scheduler with its evaluator', () => {
  it('A-20 A-17 decides instead of going by order: of three in a row the second never fits, the third does', async () => {
    const world = new SchedulingWorld();
    await world.project();
    await world.node('n1', { cpu: 2 });
    for (const [jobId, cpu] of [
      ['j1', 1],
      ['j2', 64],
      ['j3', 1],
    ] as const) {
      await world.submit(jobId, { resources: { cpu, memory: 1, disk: 0, ioSlots: 0 } });
    }
    await world.looping();
    await world.time.advanceAsync(1_000);
    expect(world.types('job-j1')).toEqual(['PlacementDecided', 'ExecutionReserved']);
    expect(world.types('job-j2')).toEqual(['PlacementDecided']);
    expect(world.types('job-j3')).toEqual(['PlacementDecided', 'ExecutionReserved']);
    expect(world.events('job-j2')[1]?.data).toMatchObject({ outcome: 'rejected' });
  });

  it('A-20 S-05 a node that joins while the job is being evaluated is not missed', async () => {
    const world = new SchedulingWorld({ faults: onFirst('PlacementDecided', { kind: 'delay-request', by: 5_000 }) });
    await world.project();
    const loop = await world.looping();
    await world.submit('j1');
    await world.time.advanceAsync(1_000);
    expect(loop.scheduler.counts.inFlight).toBe(1);
    await world.node('n1');
    await world.time.advanceAsync(4_100);
    expect(world.types('job-j1')).toEqual(['PlacementDecided', 'PlacementDecided', 'ExecutionReserved']);
    expect(await nodeOf(world, 'j1')).toBe('n1');
  });

  it('places what waits as soon as capacity is given back, the more urgent first, one after the other', async () => {
    const world = new SchedulingWorld();
    await world.project();
    await world.node('n1', { cpu: 1 });
    await world.looping();
    await world.submit('first');
    await world.time.advanceAsync(10);
    await world.submit('second');
    await world.time.advanceAsync(10);
    await world.submit('urgent', { priority: 90 });
    await world.time.advanceAsync(10);
    for (const jobId of ['first', 'urgent', 'second']) {
      const { executionId } = await world.execution(jobId);
      await world.report(executionId, 'succeed', { exitCode: 0, artifacts: [], consumption: {} });
      await world.time.advanceAsync(10);
    }
    const order = world.memory.events.filter(({ type }) => type === 'ExecutionReserved').map(({ stream }) => stream);
    expect(order).toEqual(['job-first', 'job-urgent', 'job-second']);
  });

  it('A-82 decides nothing before it knows all that is stored', async () => {
    const before = new SchedulingWorld();
    await before.project();
    await before.submit('j1');
    await before.node('n1');
    let asked = 0;
    const delivery = () => ((asked += 1) === 3 ? { kind: 'interrupt' as const, outage: 60_000 } : undefined);
    const world = new SchedulingWorld({ beside: before, faults: { delivery } });
    await world.looping();
    await world.time.advanceAsync(59_000);
    expect(world.types('job-j1')).toEqual([]);
    await world.time.advanceAsync(1_100);
    expect(world.types('job-j1')).toEqual(['PlacementDecided', 'ExecutionReserved']);
  });

  it('B-63 after a restart goes on with every job that waits, backoffs honoured', async () => {
    const world = new SchedulingWorld();
    await world.project();
    await world.node('n1');
    const first = await world.looping();
    await world.submit('j1');
    await world.time.advanceAsync(10);
    const { executionId } = await world.execution('j1');
    await world.report(executionId, 'start');
    await world.report(executionId, 'fail', { class: 'infrastructure', code: 'x', message: 'x' });
    await world.time.advanceAsync(10);
    world.store.crash();
    void first.stop();
    const next = new SchedulingWorld({ beside: world });
    await next.looping();
    await world.time.advanceAsync(9_900);
    expect(world.events('job-j1', 'ExecutionReserved')).toHaveLength(1);
    await world.time.advanceAsync(200);
    expect(world.events('job-j1', 'ExecutionReserved')).toHaveLength(2);
  });
});

const WAITING: EvaluationOutcome = { kind: 'waiting', wakesOn: ['NodeEnrolled'], reasons: 'deferred' };

/** Cores of a job that asks for nothing else. */
const cores = (cpu: number): Partial<JobSpec> => ({ resources: { cpu, memory: 1, disk: 0, ioSlots: 0 } });

const end = async (world: SchedulingWorld, jobId: string): Promise<void> => {
  const { executionId } = await world.execution(jobId);
  await world.report(executionId, 'succeed', { exitCode: 0, artifacts: [], consumption: {} });
  await world.time.advanceAsync(10);
};

const placedInOrder = (world: SchedulingWorld): string[] =>
  world.memory.events.filter(({ type }) => type === 'ExecutionReserved').map(({ stream }) => stream.slice(4));

const decisionsOf = (world: SchedulingWorld, jobId: string): number =>
  world.events(`job-${jobId}`, 'PlacementDecided').length;

describe('waiting work is woken by what can help it', () => {
  it('A-20 capacity freed while a job is being evaluated places it at once', async () => {
    const world = new SchedulingWorld({ faults: onFirst('PlacementDecided', { kind: 'delay-request', by: 5_000 }, 2) });
    await world.project();
    await world.node('n1', { cpu: 1 });
    const loop = await world.looping();
    await world.submit('first', cores(1));
    await world.time.advanceAsync(5_100);
    await world.submit('second', cores(1));
    await world.time.advanceAsync(1_000);
    expect(loop.scheduler.counts.inFlight).toBe(1);
    await end(world, 'first');
    await world.time.advanceAsync(4_100);
    expect(placedInOrder(world)).toEqual(['first', 'second']);
  });

  it('A-20 looks at one job of each shape when capacity is freed that helps none, and at none when it cannot', async () => {
    const world = new SchedulingWorld();
    const asked: string[] = [];
    world.observer.decided = (outcome: string) => void asked.push(outcome);
    await world.project();
    await world.node('n1', { cpu: 4 });
    await world.looping();
    await world.submit('one', cores(1));
    await world.submit('three', cores(3));
    for (const number of [1, 2, 3]) await world.submit(`big-${String(number)}`, cores(4));
    await world.time.advanceAsync(10);
    asked.length = 0;
    await end(world, 'one');
    expect(asked).toEqual([]);
    await end(world, 'three');
    // The first of them, and the next one, which finds the node full again.
    expect(asked).toEqual(['placed', 'deferred']);
  });

  it('A-88 a release that shows another reason is looked at, so that the stated reason is true', async () => {
    const world = new SchedulingWorld();
    await world.project();
    await world.node('n1', { cpu: 1 });
    await world.looping();
    await world.submit('j1', cores(1));
    await world.submit('j2', cores(1));
    await world.time.advanceAsync(10);
    await world.onNode('n1', { type: 'CordonNode', reason: 'disk', at: world.now() });
    await end(world, 'j1');
    const decisions = world.events('job-j2', 'PlacementDecided').map(({ data }) => data as { filtered: object[] });
    expect(decisions.map(({ filtered }) => filtered)).toMatchObject([
      [{ reason: 'capacity.cpu' }],
      [{ reason: 'node.cordoned' }],
    ]);
    await world.onNode('n1', { type: 'UncordonNode', at: world.now() });
    await world.time.advanceAsync(10);
    expect(placedInOrder(world)).toEqual(['j1', 'j2']);
  });

  it('a project at its quota goes on as soon as a job of it ends anywhere, whatever other projects give back', async () => {
    const world = new SchedulingWorld();
    await world.project('bound', { cpu: 1 });
    await world.project('free');
    for (const name of ['n1', 'n2']) await world.node(name, { cpu: 2 });
    await world.looping();
    await world.submit('b1', { project: 'bound', ...cores(1) });
    await world.time.advanceAsync(10);
    await world.submit('b2', { project: 'bound', ...cores(1) });
    await world.submit('f1', { project: 'free', ...cores(1) });
    await world.time.advanceAsync(10);
    await end(world, 'f1');
    expect(placedInOrder(world)).toEqual(['b1', 'f1']);
    expect(decisionsOf(world, 'b2')).toBe(1);
    await end(world, 'b1');
    expect(placedInOrder(world)).toEqual(['b1', 'f1', 'b2']);
  });

  it('a quota with room on a full node: the reason is capacity', async () => {
    const world = new SchedulingWorld();
    await world.project('demo', { cpu: 8 });
    await world.node('n1', { cpu: 1 });
    await world.looping();
    await world.submit('j1', cores(1));
    await world.submit('j2', cores(1));
    await world.time.advanceAsync(10);
    const [decision] = world.events('job-j2', 'PlacementDecided');
    const { filtered } = decision?.data as { filtered: { reason: string }[] };
    expect(filtered.map(({ reason }) => reason)).toEqual(['capacity.cpu']);
    await end(world, 'j1');
    expect(placedInOrder(world)).toEqual(['j1', 'j2']);
  });

  it('B-63 after a restart one job of each shape is looked at, not all that wait', async () => {
    const world = new SchedulingWorld();
    await world.project();
    await world.node('n1', { cpu: 1 });
    const first = await world.looping();
    for (const jobId of ['running', 'a', 'b', 'c']) await world.submit(jobId, cores(1));
    await world.time.advanceAsync(10);
    world.store.crash();
    void first.stop();
    const next = new SchedulingWorld({ beside: world });
    let looks = 0;
    next.observer.decided = () => (looks += 1);
    const loop = await next.looping();
    await next.time.advanceAsync(10);
    expect([looks, loop.scheduler.counts.blocked]).toEqual([1, 3]);
    for (const jobId of ['running', 'a', 'b', 'c']) await end(next, jobId);
    expect(placedInOrder(next)).toEqual(['running', 'a', 'b', 'c']);
  });

  it('the sweep finds nothing to do, and says so when it does', async () => {
    const world = new SchedulingWorld({ options: { sweepInterval: 300_000 } });
    let overlooked = 0;
    world.observer.overlooked = () => (overlooked += 1);
    const { names, answer, submit } = await scripted(world);
    await submit('a');
    await answer('a', WAITING);
    await world.time.advanceAsync(300_000);
    await answer('a', WAITING);
    expect(overlooked).toBe(0);
    await world.time.advanceAsync(300_000);
    await world.node('n1');
    await answer('a', { kind: 'placed' });
    expect([names(), overlooked]).toEqual([['a'], 0]);
    await answer('a', WAITING);
    await world.time.advanceAsync(300_000);
    await answer('a', { kind: 'placed' });
    expect(overlooked).toBe(1);
  });

  it('what the sweep asked for and a fault delayed is no find of the sweep: what helps may have come meanwhile', async () => {
    const world = new SchedulingWorld({ options: { sweepInterval: 300_000 } });
    let overlooked = 0;
    world.observer.overlooked = () => (overlooked += 1);
    const { answer, submit } = await scripted(world);
    await submit('a');
    await answer('a', WAITING);
    await world.time.advanceAsync(300_000);
    await answer('a', new Error('the store is away'));
    await world.time.advanceAsync(5_000);
    await answer('a', { kind: 'placed' });
    expect(overlooked).toBe(0);
  });
});

describe('projects share what there is', () => {
  it('A-20 one floods a hundred jobs, the other has its first one placed next', async () => {
    const world = new SchedulingWorld();
    for (const id of ['flood', 'calm']) await world.project(id);
    await world.node('n1', { cpu: 2 });
    await world.looping();
    for (let number = 0; number < 100; number += 1) {
      await world.submit(`f${String(number).padStart(3, '0')}`, { project: 'flood', ...cores(1) });
    }
    await world.time.advanceAsync(1_000);
    await world.submit('calm', { project: 'calm', ...cores(1) });
    await world.submit('urgent', { project: 'flood', priority: 90, ...cores(1) });
    await world.time.advanceAsync(10);
    for (const jobId of ['f000', 'urgent', 'f001', 'calm']) await end(world, jobId);
    expect(placedInOrder(world)).toEqual(['f000', 'f001', 'urgent', 'calm', 'f002', 'f003']);
  });

  it('A-20 in the long run each has what its weight says, and within a project nobody is passed by', async () => {
    const world = new SchedulingWorld();
    await world.project('one');
    await world.project('two', {}, 2);
    await world.node('n1', { cpu: 6 });
    await world.looping();
    for (let number = 0; number < 60; number += 1) {
      for (const project of ['one', 'two']) {
        await world.submit(`${project}-${String(number).padStart(2, '0')}`, { project, ...cores(1) });
      }
    }
    await world.time.advanceAsync(10);
    for (let ended = 0; ended < 60; ended += 1) {
      await end(world, placedInOrder(world)[ended]!);
    }
    const order = placedInOrder(world);
    const [ones, twos] = ['one', 'two'].map((project) => order.filter((jobId) => jobId.startsWith(project)));
    expect(ones).toEqual(ones!.toSorted());
    expect(twos).toEqual(twos!.toSorted());
    expect(twos!.length / order.length).toBeGreaterThan(0.6);
    expect(twos!.length / order.length).toBeLessThan(0.72);
  });
});

describe('the scheduler', () => {
  it('looks at the next of a shape when the one that was woken for it has left', async () => {
    const world = new SchedulingWorld();
    const { names, answer, submit } = await scripted(world);
    for (const jobId of ['a', 'b', 'c']) {
      await submit(jobId);
      await answer(jobId, WAITING);
    }
    await world.node('n1');
    await world.time.advanceAsync(0);
    expect(names()).toEqual(['a']);
    await answer('a', { kind: 'idle' });
    expect(names()).toEqual(['b']);
    await answer('b', new Error('its stream cannot be written'));
    expect(names()).toEqual(['c']);
    await answer('c', { kind: 'placed' });
    expect(names()).toEqual([]);
    await world.time.advanceAsync(5_000);
    expect(names()).toEqual(['b']);
  });

  it('a job that is cancelled while it is woken for others passes the look on; one that only waits wakes nobody', async () => {
    const world = new SchedulingWorld();
    const { names, answer, submit } = await scripted(world);
    for (const jobId of ['a', 'b', 'c']) {
      await submit(jobId);
      await answer(jobId, WAITING);
    }
    await world.job('c', { type: 'CancelJob', reason: 'x', byUser: true, at: world.now() });
    await world.time.advanceAsync(0);
    expect(names()).toEqual([]);
    await world.node('n1');
    await world.time.advanceAsync(0);
    expect(names()).toEqual(['a']);
    await world.job('a', { type: 'CancelJob', reason: 'x', byUser: true, at: world.now() });
    await world.time.advanceAsync(0);
    expect(names()).toEqual(['a', 'b']);
  });

  it('B-29 never evaluates a job twice at once, and looks again at what changed meanwhile', async () => {
    const world = new SchedulingWorld();
    const { names, answer, submit } = await scripted(world);
    await submit('a');
    await world.job('a', { type: 'ChangePriority', priority: 60, at: world.now() });
    await world.job('a', { type: 'ChangePriority', priority: 70, at: world.now() });
    await world.time.advanceAsync(0);
    expect(names()).toEqual(['a']);
    await answer('a', WAITING);
    expect(names()).toEqual(['a']);
    await answer('a', WAITING);
    expect(names()).toEqual([]);
  });

  it('B-23 a raised priority moves a job that is ready to the front', async () => {
    const world = new SchedulingWorld();
    const { names, answer, submit } = await scripted(world, 1);
    for (const jobId of ['a', 'b', 'c']) await submit(jobId);
    await world.job('c', { type: 'ChangePriority', priority: 90, at: world.now() });
    await world.time.advanceAsync(0);
    await answer('a', { kind: 'placed' });
    expect(names()).toEqual(['c']);
    await answer('c', { kind: 'placed' });
    expect(names()).toEqual(['b']);
    await answer('b', { kind: 'placed' });
    expect(names()).toEqual([]);
  });

  it('conflict upon conflict makes a job step back for a moment, so that it starves no other', async () => {
    const world = new SchedulingWorld();
    const { names, answer, submit } = await scripted(world, 1);
    await submit('a');
    await submit('b', { priority: 10 });
    for (let count = 0; count < 10; count += 1) await answer('a', { kind: 'again', because: 'conflict' });
    expect(names()).toEqual(['b']);
    await answer('b', { kind: 'placed' });
    await world.time.advanceAsync(1_000);
    expect(names()).toEqual(['a']);
  });

  it('B-52 faults delay one job alone: 5 s, then 30, 60, 90', async () => {
    const world = new SchedulingWorld();
    const { names, answer, submit } = await scripted(world);
    await submit('a');
    for (const seconds of [5, 30, 60, 90]) {
      await answer('a', new Error('the store is away'));
      await world.time.advanceAsync(seconds * 1000 - 1);
      expect(names()).toEqual([]);
      await world.time.advanceAsync(1);
      expect(names()).toEqual(['a']);
    }
  });

  it('what failed while the store was away is tried again as soon as it is back', async () => {
    const world = new SchedulingWorld();
    const { names, answer, submit } = await scripted(world);
    await submit('a');
    for (const seconds of [5, 30, 60]) {
      await answer('a', new Error('the store is away'));
      await world.time.advanceAsync(seconds * 1000);
    }
    world.store.cutOff(5_000);
    await world.time.advanceAsync(0);
    await answer('a', new Error('the store is away'));
    await world.time.advanceAsync(4_900);
    expect(names()).toEqual([]);
    await world.time.advanceAsync(200);
    expect(names()).toEqual(['a']);
  });

  it('wakes by time what only time can help, and by the sweep what an event missed', async () => {
    const world = new SchedulingWorld({ options: { sweepInterval: 300_000 } });
    const { names, answer, submit } = await scripted(world);
    await submit('a');
    const wakesAt = '2026-01-01T00:01:00.000Z';
    await answer('a', { kind: 'waiting', wakesOn: [], reasons: 'deferred', wakesAt });
    await submit('b', { priority: 10, architecture: ['arm64'] });
    await answer('b', { kind: 'waiting', wakesOn: [], reasons: 'deferred' });
    await world.time.advanceAsync(60_000 - 3);
    expect(names()).toEqual([]);
    await world.time.advanceAsync(1);
    expect(names()).toEqual(['a']);
    await answer('a', { kind: 'placed' });
    for (const jobId of names()) await answer(jobId, { kind: 'waiting', wakesOn: [], reasons: 'deferred' });
    await world.time.advanceAsync(240_000);
    expect(names()).toEqual(['b']);
  });

  it('asks for nothing any more once it was stopped', async () => {
    const world = new SchedulingWorld();
    const { scheduler, names, answer, submit } = await scripted(world);
    await submit('a');
    const stopped = scheduler.stop();
    await answer('a', { kind: 'again', because: 'conflict' });
    await stopped;
    await submit('b');
    expect(names()).toEqual([]);
    expect(world.events(jobStream('b'))).toHaveLength(1);
  });
});
