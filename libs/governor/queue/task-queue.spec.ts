import { describe, expect, it } from '@jest/globals';
import type { Rejection } from '#kernel';
import { FakeTime } from '#kernel';
import { ResourceGovernor, TaskQueue } from '../index.js';
import type { Governor, Reserved } from '../index.js';
import { Bench, capacity, estimate, settle } from '../testing/bench.js';

const one = estimate({ cpu: 1 });
const three = estimate({ cpu: 3 });
const all = estimate({ cpu: 4 });
const workers = (count: number) => [{ name: 'tasks', workers: count }];

describe('responsibilities', () => {
  it('G-01 G-20 examines the first in line and keeps the order', async () => {
    const bench = new Bench();
    for (const id of ['a', 'b', 'c']) bench.submit(id, all);
    await settle();
    expect(bench.steps.filter(({ step }) => step === 'examined')).toEqual([
      { step: 'examined', task: 'a', verdict: 'GRANT' },
    ]);
    await bench.finish('a');
    await bench.finish('b');
    await bench.finish('c');
    expect(bench.started()).toEqual(['a', 'b', 'c']);
  });

  it('G-51 nobody passes the first, even where there is room', async () => {
    const bench = new Bench({}, workers(3));
    for (const [id, needs] of [
      ['a', three],
      ['b', three],
      ['c', one],
    ] as const)
      bench.submit(id, needs);
    await settle();
    expect(bench.started()).toEqual(['a']);
    await bench.finish('a');
    expect(bench.started()).toEqual(['a', 'b', 'c']);
  });

  it('G-02 runs the callbacks, and passes on what they give', async () => {
    const bench = new Bench();
    await bench.start('a');
    await bench.finish('a', 42);
    expect(bench.ends.get('a')).toEqual({ state: 'completed', result: 42 });
  });

  it('G-03 computes no budget: it starts what the governor grants and nothing else, with what it grants', async () => {
    const answers: Reserved[] = [
      { kind: 'WAIT', reason: { code: 'because', message: 'I say so' } },
      { kind: 'GRANT', reservation: {} as never, contract: { cpu: 99, memory: 1, disk: 2, ioSlots: 3, gpus: [] } },
    ];
    const given: unknown[] = [];
    const governor: Governor = {
      reserve: () => answers.shift()!,
      reserveBehind: () => answers[0]!,
      forecast: () => undefined,
      adopt: () => ({}) as never,
      release: () => 'released',
      isActive: () => true,
    };
    const queue = new TaskQueue({ governor, clock: new FakeTime() });
    queue.submit({ id: 'a', estimate: one, work: (contract) => given.push(contract) });
    await settle();
    expect([given, queue.task('a')?.reason?.code]).toEqual([[], 'because']);
    queue.resourcesChanged();
    await settle();
    expect(given).toEqual([{ cpu: 99, memory: 1, disk: 2, ioSlots: 3, gpus: [] }]);
  });

  it('G-09 goes the same way each time: task, estimate, governor, reservation, queue, worker, release', async () => {
    const bench = new Bench();
    await bench.start('a', one);
    await bench.finish('a');
    await bench.start('b', one);
    await bench.fail('b', new Error('no'));
    const cycle = ['created', 'estimated', 'examined', 'reserved', 'taken', 'started', 'released', 'ended'];
    expect([bench.path('a'), bench.path('b')]).toEqual([cycle, cycle]);
  });

  it('G-10 G-11 a task has its estimate from the start, and nobody can change it', async () => {
    const bench = new Bench();
    const mine = { resources: { ...one.resources } };
    bench.submit('a', mine);
    expect(bench.queue.task('a')?.estimate).toEqual(one);
    mine.resources.cpu = 4;
    const seen = bench.queue.task('a')!.estimate;
    expect(() => Object.assign(seen.resources, { cpu: 4 })).toThrow(TypeError);
    await settle();
    expect(bench.calls.get('a')?.contract.cpu).toBe(1);
  });

  it('G-12 nothing runs without an active reservation', async () => {
    const real = new ResourceGovernor(capacity());
    const governor: Governor = {
      reserve: (needs) => {
        const answer = real.reserve(needs);
        if ('reservation' in answer) real.release(answer.reservation);
        return answer;
      },
      reserveBehind: (...given) => real.reserveBehind(...given),
      forecast: (...given) => real.forecast(...given),
      adopt: (contract) => real.adopt(contract),
      release: (reservation) => real.release(reservation),
      isActive: (reservation) => real.isActive(reservation),
    };
    const queue = new TaskQueue({ governor, clock: new FakeTime() });
    let called = false;
    queue.submit({ id: 'a', estimate: one, work: () => (called = true) });
    await settle();
    expect([called, queue.task('a')?.state, queue.task('a')?.reason?.code]).toEqual([
      false,
      'failed',
      'governor.no-active-reservation',
    ]);
  });

  it('G-13 G-14 G-15 G-16 G-17 G-18 G-19 the callback gets a copy of the contract, and not the reservation', async () => {
    const bench = new Bench({ gpus: [{ id: 'g0', model: 'T4', memory: 100 }] });
    const gpu = { count: 1, share: 0.25, memory: 20, models: [] };
    const batch = { size: 8, min: 1, memoryPerItem: 50, gpuMemoryPerItem: 5 };
    let given: unknown[] = [];
    bench.queue.submit({
      id: 'a',
      estimate: estimate({ cpu: 1.5, memory: 100, ioSlots: 2, gpu }, { batch }),
      work: (...all) => {
        given = all;
        return new Promise(() => undefined);
      },
    });
    await settle();
    const contract = {
      cpu: 1.5,
      memory: 500,
      disk: 0,
      ioSlots: 2,
      gpus: [{ id: 'g0', share: 0.25, memory: 60 }],
      batchSize: 8,
    };
    expect(given).toEqual([
      contract,
      { signal: expect.any(AbortSignal) as unknown, checkpoint: expect.any(Function) as unknown },
    ]);
    expect(() => Object.assign((given[0] as typeof contract).gpus[0]!, { memory: 0 })).toThrow(TypeError);
    expect(given[0]).not.toBe(bench.queue.task('a')?.contract);
    expect(bench.governor.contracts()).toEqual([contract]);
  });
});

describe('admission', () => {
  it('G-21 G-22 G-24 on WAIT the task stays pending and the worker sleeps, looking again at nothing', async () => {
    const bench = new Bench({}, workers(2));
    await bench.start('a', three);
    await bench.start('b', three);
    expect([bench.state('b'), bench.queue.lane('tasks')]).toMatchObject(['pending', { waiting: ['b'], asleep: 1 }]);
    expect(bench.steps.at(-1)).toEqual({ step: 'asleep', lane: 'tasks' });
    expect(bench.queue.task('b')?.reason).toMatchObject({ code: 'capacity.cpu', message: 'cpu: asked 3, 1 of 4 free' });
    for (let turn = 0; turn < 50; turn += 1) await bench.time.advanceAsync(60_000);
    bench.submit('c', one);
    await settle();
    expect([bench.count('examined', 'b'), bench.count('examined', 'c'), bench.count('woken')]).toEqual([1, 0, 0]);
    expect(bench.time.nextDue()).toBeUndefined();
  });

  it('G-23 G-54 an outside release wakes the worker with the notification, and not without it', async () => {
    const bench = new Bench();
    const outside = bench.governor.reserve(three);
    await bench.start('a', three);
    if ('reservation' in outside) bench.governor.release(outside.reservation);
    await settle();
    expect([bench.state('a'), bench.count('examined'), bench.count('woken')]).toEqual(['pending', 1, 0]);
    bench.queue.resourcesChanged();
    await settle();
    expect([bench.state('a'), bench.count('examined'), bench.count('woken')]).toEqual(['running', 2, 1]);
  });

  it('G-24 wakes nobody when nobody waits, and one sleeper for one change', async () => {
    const bench = new Bench({}, workers(3));
    for (const id of ['a', 'b', 'c']) await bench.start(id, one);
    for (const id of ['a', 'b', 'c']) await bench.finish(id);
    bench.queue.resourcesChanged();
    await settle();
    expect(bench.count('woken')).toBe(0);
    const outside = bench.governor.adopt({ cpu: 4, memory: 0, disk: 0, ioSlots: 0, gpus: [] });
    await bench.start('d', all);
    await bench.start('e', all);
    const before = bench.count('woken');
    bench.governor.release(outside);
    bench.queue.resourcesChanged();
    bench.queue.resourcesChanged();
    await settle();
    // One for the change, one that the start of `d` hands on to look at `e`.
    expect([bench.count('woken') - before, bench.state('d'), bench.state('e')]).toEqual([2, 'running', 'pending']);
  });

  it('G-25 G-26 on REDUCE_BATCH the task runs with the smaller contract', async () => {
    const bench = new Bench();
    const batch = { size: 20, min: 2, memoryPerItem: 100, gpuMemoryPerItem: 0 };
    await bench.start('a', estimate({}, { batch }));
    expect(bench.steps).toContainEqual({ step: 'examined', task: 'a', verdict: 'REDUCE_BATCH' });
    expect(bench.calls.get('a')?.contract).toMatchObject({ batchSize: 10, memory: 1000 });
    expect(bench.queue.task('a')?.contract).toMatchObject({ batchSize: 10, memory: 1000 });
  });

  it('G-27 G-28 G-29 on REJECT the task fails with the governor’s reason, its callback is not called', async () => {
    const bench = new Bench();
    bench.submit('a', estimate({ cpu: 5 }));
    bench.submit('b', one);
    await settle();
    const reason = { code: 'capacity.cpu', message: 'cpu: asked 5, 4 of 4 free' };
    expect(bench.ends.get('a')).toMatchObject({ state: 'failed', reason });
    expect(bench.queue.task('a')).toMatchObject({ state: 'failed', reason });
    expect([bench.started(), bench.count('released', 'a')]).toEqual([['b'], 0]);
  });

  it('rejects a waiting task once the capacity has gone', async () => {
    const bench = new Bench({}, workers(2));
    await bench.start('a', three);
    await bench.start('b', three);
    bench.governor.setCapacity(capacity({ cpu: 2 }));
    bench.queue.resourcesChanged();
    await settle();
    expect([bench.state('a'), bench.state('b')]).toEqual(['running', 'failed']);
  });

  it.each([
    ['G-30 success', 'completed', (bench: Bench) => bench.finish('a')],
    ['G-31 failure', 'failed', (bench: Bench) => bench.fail('a', new Error('no'))],
    ['G-31 a failure that is no error', 'failed', (bench: Bench) => bench.fail('a', undefined)],
    ['G-32 cancellation', 'cancelled', (bench: Bench) => bench.queue.cancel('a', 'enough')],
  ])('G-33 after %s the worker releases exactly once, then wakes the queue', async (_, state, end) => {
    const bench = new Bench({}, workers(2));
    await bench.start('a', all);
    await bench.start('b', all);
    await end(bench);
    await settle();
    expect(bench.steps.filter((one) => one.step === 'released')).toEqual([
      { step: 'released', task: 'a', answer: 'released' },
    ]);
    expect([bench.state('a'), bench.state('b')]).toEqual([state, 'running']);
    const names = bench.steps.map((step) => step.step);
    expect(names.lastIndexOf('woken')).toBeGreaterThan(names.lastIndexOf('released'));
    bench.queue.cancel('a', 'again');
    expect(bench.count('released')).toBe(1);
  });

  it('keeps the error of a callback, thrown at once or later', async () => {
    const bench = new Bench();
    const error = new Error('boom');
    bench.submit('a', one, {
      work: () => {
        throw error;
      },
    });
    await settle();
    expect(bench.ends.get('a')).toEqual({ state: 'failed', reason: { code: 'task.threw', message: 'boom' }, error });
  });

  it('G-32 a cancelled callback holds what it has until it has ended', async () => {
    const bench = new Bench();
    const ending = Promise.withResolvers<undefined>();
    let aborted: unknown;
    bench.submit('a', all, {
      work: async (_, { signal }) => {
        signal.addEventListener('abort', () => (aborted = signal.reason));
        await ending.promise;
      },
    });
    bench.submit('b', one);
    await settle();
    bench.queue.cancel('a', 'enough');
    await settle();
    expect(aborted).toEqual({ code: 'task.cancelled', message: 'enough' });
    expect([bench.freeCpu, bench.state('b')]).toEqual([0, 'pending']);
    ending.resolve(undefined);
    await settle();
    expect([bench.state('a'), bench.state('b')]).toEqual(['cancelled', 'running']);
  });

  it('lets the next one in when the first in line is cancelled', async () => {
    const bench = new Bench({}, workers(2));
    for (const [id, needs] of [
      ['a', three],
      ['b', three],
      ['c', one],
    ] as const)
      await bench.start(id, needs);
    expect(bench.queue.cancel('b', 'not needed')).toBeUndefined();
    await settle();
    expect([bench.state('b'), bench.state('c'), bench.started()]).toEqual(['cancelled', 'running', ['a', 'c']]);
  });
});

describe('destruction', () => {
  it('G-34 G-35 G-36 G-37 cancels the tasks, joins the workers, releases, and only then destroys', async () => {
    const bench = new Bench({}, workers(2));
    await bench.start('a', three);
    await bench.start('b', one);
    await bench.start('c', all);
    bench.steps.length = 0;
    await bench.queue.destroy();
    const names = bench.steps.map((one) => ('task' in one ? `${one.step} ${one.task}` : one.step));
    expect(names).toEqual([
      'closing',
      'ended c',
      'released a',
      'ended a',
      'released b',
      'ended b',
      'joined',
      'destroyed',
    ]);
    expect([...bench.ends.values()].map(({ state }) => state)).toEqual(['cancelled', 'cancelled', 'cancelled']);
    expect([bench.governor.contracts(), bench.queue.task('a')]).toEqual([[], undefined]);
  });

  it('G-35 waits for callbacks that take their time', async () => {
    const bench = new Bench();
    const ending = Promise.withResolvers<undefined>();
    bench.submit('a', one, { work: () => ending.promise });
    await settle();
    let gone = false;
    const destroyed = bench.queue.destroy().then(() => (gone = true));
    await settle();
    expect([gone, bench.governor.contracts()]).toMatchObject([false, [{ cpu: 1 }]]);
    ending.resolve(undefined);
    await destroyed;
    expect(bench.governor.contracts()).toEqual([]);
  });

  it('G-36 releases what an abandoned callback still holds, once, and before the tasks are gone', async () => {
    const bench = new Bench();
    const ending = Promise.withResolvers<undefined>();
    bench.submit('a', one, { work: () => ending.promise });
    await settle();
    const destroyed = bench.queue.destroy({ after: 5000, timers: bench.time });
    await bench.time.advanceAsync(5000);
    expect(await destroyed).toEqual({ abandoned: ['a'] });
    expect(bench.governor.contracts()).toEqual([]);
    ending.resolve(undefined);
    await settle();
    expect(bench.steps.map(({ step }) => step).slice(-5)).toEqual([
      'closing',
      'joined',
      'released',
      'ended',
      'destroyed',
    ]);
  });

  it('takes nothing more', async () => {
    const bench = new Bench();
    await bench.start('a');
    const destroyed = bench.queue.destroy();
    const late = bench.queue.submit({ id: 'late', estimate: one, work: () => undefined });
    expect(late).toMatchObject({ kind: 'rejected', rejection: { code: 'QUEUE_CLOSED' } });
    expect(await bench.queue.destroy()).toEqual(await destroyed);
  });

  it('wakes its sleepers to let them go', async () => {
    const bench = new Bench({}, workers(2));
    await bench.start('a', all);
    await bench.start('b', all);
    bench.queue.cancel('b', 'no');
    await bench.queue.destroy();
    expect(bench.count('joined')).toBe(1);
  });
});

describe('pause', () => {
  it('G-40 G-41 G-42 a paused task keeps what it has, and goes on with the contract it had', async () => {
    const bench = new Bench({}, workers(2));
    const seen: unknown[] = [];
    const go = Promise.withResolvers<undefined>();
    bench.submit('a', three, {
      work: async (contract, control) => {
        seen.push(contract);
        await go.promise;
        await control.checkpoint();
        seen.push(contract);
      },
    });
    bench.submit('b', three);
    await settle();
    expect(bench.queue.pause('a')).toBeUndefined();
    go.resolve(undefined);
    bench.queue.resourcesChanged();
    await settle();
    expect([bench.state('a'), bench.state('b'), seen.length]).toEqual(['paused', 'pending', 1]);
    expect(bench.governor.contracts()).toMatchObject([{ cpu: 3 }]);
    expect(bench.queue.resume('a')).toBeUndefined();
    await settle();
    expect([seen[0], bench.state('a'), bench.state('b')]).toEqual([seen[1], 'completed', 'running']);
    expect(bench.count('released', 'a')).toBe(1);
  });

  it('G-32 a paused task can be cancelled, and its checkpoint says so', async () => {
    const bench = new Bench();
    let thrown: unknown;
    const go = Promise.withResolvers<undefined>();
    bench.submit('a', one, {
      work: async (_, { checkpoint }) => {
        await go.promise;
        await checkpoint().catch((error: unknown) => (thrown = error));
      },
    });
    await settle();
    bench.queue.pause('a');
    go.resolve(undefined);
    await settle();
    bench.queue.cancel('a', 'enough');
    await settle();
    expect([bench.state('a'), (thrown as Rejection).message]).toEqual(['cancelled', 'enough']);
    expect([bench.count('released', 'a'), bench.freeCpu]).toEqual([1, 4000]);
  });

  it('says why a task cannot be paused, resumed or cancelled', async () => {
    const bench = new Bench();
    await bench.start('a', all);
    await bench.start('b', all);
    const { queue } = bench;
    const codes = (...answers: (Rejection | undefined)[]) => answers.map((answer) => answer?.code);
    expect(
      codes(queue.pause('b'), queue.resume('a'), queue.pause('x'), queue.resume('x'), queue.cancel('x', '')),
    ).toEqual(['TASK_NOT_RUNNING', 'TASK_NOT_PAUSED', 'TASK_UNKNOWN', 'TASK_UNKNOWN', 'TASK_UNKNOWN']);
    await bench.finish('a');
    expect(codes(queue.cancel('a', ''), queue.pause('a'))).toEqual(['TASK_OVER', 'TASK_NOT_RUNNING']);
  });
});

describe('limits', () => {
  it('G-50 has one worker unless told otherwise', async () => {
    const bench = new Bench();
    await bench.start('a', one);
    await bench.start('b', one);
    expect([bench.state('a'), bench.state('b')]).toEqual(['running', 'pending']);
  });

  it('G-52 knows no priority unless told otherwise', async () => {
    const bench = new Bench();
    await bench.start('a', all);
    await bench.start('b', all, { priority: 1 });
    await bench.start('c', all, { priority: 9 });
    expect(bench.queue.lane('tasks')?.waiting).toEqual(['b', 'c']);
  });

  it('G-53 a task that names no other waits for none, whatever becomes of those before it', async () => {
    const bench = new Bench();
    await bench.start('a', all);
    await bench.start('b', all);
    await bench.fail('a', new Error('no'));
    expect(bench.state('b')).toBe('running');
  });

  it('forgets the oldest of those that ended', async () => {
    const queue = new TaskQueue({ governor: new ResourceGovernor(capacity()), clock: new FakeTime(), remembered: 1 });
    for (const id of ['a', 'b']) queue.submit({ id, estimate: one, work: () => undefined });
    await settle();
    expect([queue.task('a'), queue.task('b')?.state]).toEqual([undefined, 'completed']);
  });
});
