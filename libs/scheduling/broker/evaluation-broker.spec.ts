import { describe, expect, it } from '@jest/globals';
import { toInstant } from '#kernel';
import type { ClusterJob } from '#placement';
import { BrokerWorld, LEASE, START } from '../testing/broker-world.js';
import { anEvaluation as evaluation } from '../testing/evaluations.js';
import type { BrokerError } from './broker-error.js';
import { evaluationOf } from './evaluation.js';
import type { Evaluation } from './evaluation.js';

const codeOf = (run: () => void): string | undefined => {
  try {
    run();
  } catch (error) {
    return (error as BrokerError).code;
  }
  return undefined;
};

const idsOf = (all: readonly { readonly evaluation: Evaluation }[]): string[] => all.map((one) => one.evaluation.id);

const pass = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('the switch of the broker', () => {
  it('B-01 B-61 is off at first: what is enqueued is not kept, and all counts are 0', () => {
    const { broker } = new BrokerWorld({ off: true });
    broker.enqueue(evaluation('a'));
    const none = { ready: 0, inFlight: 0, pending: 0, waiting: 0, cancelable: 0 };
    const byType = { readyByType: new Map(), inFlightByType: new Map() };
    expect([broker.counts, broker.knows('a')]).toEqual([{ ...none, ...byType }, false]);
  });

  it('B-02 a dequeue fails while it is off', async () => {
    const { broker } = new BrokerWorld({ off: true });
    await expect(broker.dequeue(['batch'], 1)).rejects.toMatchObject({ code: 'broker-off' });
  });

  it('B-03 B-61 switched off it forgets everything, stops all leases and wakes every dequeue that is blocked', async () => {
    const world = new BrokerWorld();
    const { broker, time } = world;
    for (const id of ['held', 'left']) broker.enqueue(evaluation(id, { jobId: id }));
    const delivery = await world.take();
    const { id, jobId } = delivery.evaluation;
    for (const behind of ['p1', 'p2']) broker.enqueue(evaluation(behind, { jobId }));
    broker.ack(id, delivery.receipt);
    await world.take();
    broker.enqueue(evaluation('later', { waitUntil: START + 60_000 }));
    const blocked = [broker.dequeue(['ops'], 0), broker.dequeue(['service'], 5_000)];
    expect(world.totals).toEqual([1, 1, 0, 1, 1]);
    broker.switchOff();
    for (const one of blocked) await expect(one).rejects.toMatchObject({ code: 'broker-off' });
    expect(world.totals).toEqual([0, 0, 0, 0, 0]);
    expect(time.nextDue()).toBeUndefined();
    broker.switchOn();
    time.advance(120_000);
    expect([world.totals, broker.takeSuperseded(9)]).toEqual([[0, 0, 0, 0, 0], []]);
  });

  it.each([-1, Number.NaN])('B-04 refuses a lease of %s', (leaseTimeout) => {
    expect(() => new BrokerWorld({ leaseTimeout })).toThrow(RangeError);
  });
});

describe('enqueue', () => {
  it('B-05 takes an ID once, be it ready, in flight, waiting, delayed or pending', async () => {
    const world = new BrokerWorld();
    const { broker } = world;
    const twice = (one: Evaluation): void => {
      broker.enqueue(one);
      const before = world.totals;
      broker.enqueue({ ...one, priority: 99 });
      expect(world.totals).toEqual(before);
    };
    const first = evaluation('a');
    twice(first);
    const { receipt } = await world.take();
    twice(first);
    twice(evaluation('b', { jobId: first.jobId }));
    twice(evaluation('c', { waitUntil: START + 1_000 }));
    broker.nack('a', receipt);
    twice(first);
    expect(world.totals).toEqual([0, 0, 1, 2, 0]);
  });

  it('B-06 takes an ID again after its ack', async () => {
    const world = new BrokerWorld();
    world.broker.enqueue(evaluation('a'));
    expect(await world.drain()).toEqual(['a']);
    world.broker.enqueue(evaluation('a'));
    expect(await world.drain()).toEqual(['a']);
  });

  it('B-07 B-08 the first evaluation of a free job is ready, any further one is pending', () => {
    const world = new BrokerWorld();
    for (const id of ['a', 'b', 'c']) world.broker.enqueue(evaluation(id, { jobId: 'j' }));
    expect(world.totals).toEqual([1, 0, 2, 0, 0]);
  });

  it('B-09 one job ID in two projects is two jobs', async () => {
    const world = new BrokerWorld();
    for (const project of ['one', 'two']) world.broker.enqueue(evaluation(project, { jobId: 'j', project }));
    expect(world.totals).toEqual([2, 0, 0, 0, 0]);
    expect([await world.take(), await world.take()]).toHaveLength(2);
  });

  it('B-10 B-11 what waits for its time does not take the job, and is as if just enqueued when that comes', async () => {
    const world = new BrokerWorld();
    const { broker, time } = world;
    for (const id of ['free', 'taken']) broker.enqueue(evaluation(id, { jobId: id, waitUntil: START + 5_000 }));
    expect(world.totals).toEqual([0, 0, 0, 2, 0]);
    broker.enqueue(evaluation('now', { jobId: 'taken' }));
    const now = await world.take();
    expect(now.evaluation.id).toBe('now');
    time.advance(4_999);
    expect(world.totals).toEqual([0, 1, 0, 2, 0]);
    time.advance(1);
    expect(world.totals).toEqual([1, 1, 1, 0, 0]);
    expect((await world.take()).evaluation.id).toBe('free');
    broker.ack('now', now.receipt);
    expect((await world.take()).evaluation.id).toBe('taken');
  });

  it.each([START - 1, START, undefined])('B-12 with %s to wait for it is ready at once', (waitUntil) => {
    const world = new BrokerWorld();
    world.broker.enqueue(evaluation('a', waitUntil === undefined ? {} : { waitUntil }));
    expect(world.totals).toEqual([1, 0, 0, 0, 0]);
  });

  it('B-11 a timer that is early, or a clock that was set back, delivers nothing too early', async () => {
    const world = new BrokerWorld();
    world.broker.enqueue(evaluation('a', { waitUntil: START + 5_000 }));
    world.offset = -1_000;
    world.time.advance(5_999);
    expect(world.totals).toEqual([0, 0, 0, 1, 0]);
    world.time.advance(1);
    expect(world.totals).toEqual([1, 0, 0, 0, 0]);
  });

  it('B-13 a dequeue that is blocked gets the most urgent of a group, not the first', async () => {
    const { broker } = new BrokerWorld();
    const blocked = broker.dequeue(['batch'], 0);
    const group = [10, 90, 50].map((priority) => ({ evaluation: evaluation(String(priority), { priority }) }));
    broker.enqueueAll(group);
    expect((await blocked)?.evaluation.id).toBe('90');
  });

  it('B-14 under its receipt an evaluation comes again after its ack', async () => {
    const world = new BrokerWorld();
    const { broker } = world;
    broker.enqueue(evaluation('a'));
    const first = await world.take();
    const again = evaluation('a', { waitUntil: START + 3_000, trigger: 'again' });
    broker.enqueueAll([{ evaluation: again, receipt: first.receipt }]);
    expect(world.totals).toEqual([0, 1, 0, 0, 0]);
    broker.ack('a', first.receipt);
    expect(world.totals).toEqual([0, 0, 0, 1, 0]);
    world.time.advance(3_000);
    expect(await world.take()).toMatchObject({ evaluation: { trigger: 'again' }, deliveries: 1 });
  });

  it('B-14 what comes again stands behind what was pending', async () => {
    const world = new BrokerWorld();
    const { broker } = world;
    broker.enqueue(evaluation('a', { jobId: 'j' }));
    const first = await world.take();
    broker.enqueue(evaluation('b', { jobId: 'j' }));
    broker.enqueueAll([{ evaluation: evaluation('a', { jobId: 'j' }), receipt: first.receipt }]);
    broker.ack('a', first.receipt);
    expect(world.totals).toEqual([1, 0, 1, 0, 0]);
    expect(await world.drain()).toEqual(['b', 'a']);
  });

  it('B-15 B-57 a nack drops what was asked for under its receipt', async () => {
    const world = new BrokerWorld();
    const { broker } = world;
    broker.enqueue(evaluation('a'));
    const first = await world.take();
    broker.enqueueAll([{ evaluation: evaluation('a'), receipt: first.receipt }]);
    broker.nack('a', first.receipt);
    expect(world.totals).toEqual([0, 0, 0, 1, 0]);
    world.time.advance(5_000);
    expect(await world.drain()).toEqual(['a']);
    expect(world.totals).toEqual([0, 0, 0, 0, 0]);
  });

  it('B-16 B-17 ignores a wrong receipt, a receipt of what is not in flight, and a known ID without one', async () => {
    const world = new BrokerWorld();
    const { broker } = world;
    const one = evaluation('a');
    broker.enqueueAll([{ evaluation: one, receipt: 'none' }]);
    expect(world.totals).toEqual([0, 0, 0, 0, 0]);
    broker.enqueueAll([{ evaluation: one }, { evaluation: one }, { evaluation: one, receipt: 'early' }]);
    const { receipt } = await world.take();
    broker.enqueueAll([{ evaluation: one, receipt: 'wrong' }, { evaluation: one }]);
    broker.ack('a', receipt);
    expect(world.totals).toEqual([0, 0, 0, 0, 0]);
  });
});

describe('dequeue', () => {
  it('B-20 returns only what is of a type in the list', async () => {
    const world = new BrokerWorld();
    for (const type of ['batch', 'ops'] as const) world.broker.enqueue(evaluation(type, { type }));
    expect(await world.drain('service')).toEqual([]);
    expect(await world.drain('ops', 'service')).toEqual(['ops']);
    expect(await world.drain('batch')).toEqual(['batch']);
  });

  it('B-21 blocks until something of its type is ready, or its time is over', async () => {
    const { broker, time } = new BrokerWorld();
    let answered: unknown = 'blocked';
    void broker.dequeue(['batch'], 5_000).then((delivery) => (answered = delivery));
    time.advance(4_999);
    broker.enqueue(evaluation('o', { type: 'ops' }));
    await pass();
    expect(answered).toBe('blocked');
    time.advance(1);
    await pass();
    expect(answered).toBeUndefined();
    const blocked = broker.dequeue(['batch'], 5_000);
    broker.enqueue(evaluation('a'));
    expect((await blocked)?.evaluation.id).toBe('a');
  });

  it('B-22 with a timeout of 0 blocks without limit', async () => {
    const { broker, time } = new BrokerWorld();
    const blocked = broker.dequeue(['batch'], 0);
    expect(time.nextDue()).toBeUndefined();
    time.advance(30 * 86_400_000);
    broker.enqueue(evaluation('a'));
    expect((await blocked)?.evaluation.id).toBe('a');
  });

  it('B-23 B-24 the more urgent first, then the older', async () => {
    const world = new BrokerWorld();
    const { broker } = world;
    broker.enqueue(evaluation('late', { createdAt: START + 2 }));
    broker.enqueue(evaluation('urgent', { priority: 51, createdAt: START + 9 }));
    broker.enqueue(evaluation('early', { createdAt: START + 1 }));
    broker.enqueue(evaluation('low', { priority: 49, createdAt: START }));
    expect(await world.drain()).toEqual(['urgent', 'early', 'late', 'low']);
  });

  it('A-20 among equals the project with the smaller share, asked anew at each choice', async () => {
    const shares: Record<string, number> = { a: 0.5, b: 0.25, c: 0.25 };
    const world = new BrokerWorld({ shareOf: (project) => shares[project] ?? 0 });
    const put = (id: string, priority: number, createdAt: number): void =>
      world.broker.enqueue(evaluation(id, { project: id[0]!, priority, createdAt }));
    put('a-old', 50, 0);
    put('b-new', 50, 9);
    put('c-mid', 50, 5);
    put('c-more', 50, 6);
    put('a-urgent', 90, 9);
    put('b-low', 10, 0);
    const first = [await world.take(), await world.take()].map((one) => one.evaluation.id);
    shares['c'] = 0.3;
    const rest = await world.drain();
    expect([...first, ...rest]).toEqual(['a-urgent', 'c-mid', 'b-new', 'c-more', 'a-old', 'b-low']);
  });

  it('B-25 across types the most urgent, and an even chance for those that are equal', async () => {
    const world = new BrokerWorld();
    const { broker } = world;
    const drawn: Record<string, number> = { batch: 0, ops: 0, service: 0 };
    for (let round = 0; round < 600; round += 1) {
      broker.enqueue(evaluation(`b${String(round)}`));
      broker.enqueue(evaluation(`o${String(round)}`, { type: 'ops' }));
      broker.enqueue(evaluation(`s${String(round)}`, { type: 'service', priority: round < 300 ? 40 : 50 }));
      const { evaluation: first } = await world.take('batch', 'ops', 'service');
      drawn[first.type]! += 1;
      if (round === 299) expect([drawn['service'], Math.min(drawn['batch']!, drawn['ops']!) > 120]).toEqual([0, true]);
      broker.switchOff();
      broker.switchOn();
    }
    expect(drawn['service']).toBeGreaterThan(70);
    expect(drawn['service']).toBeLessThan(130);
  });

  it('B-26 B-27 B-28 each delivery has a receipt of its own, is counted, and has a whole lease', async () => {
    const world = new BrokerWorld();
    const { broker, time } = world;
    broker.enqueue(evaluation('a'));
    const first = await world.take();
    time.advance(LEASE - 2);
    broker.nack('a', first.receipt);
    time.advance(5_000);
    const second = await world.take();
    expect([first.deliveries, second.deliveries]).toEqual([1, 2]);
    expect(second.receipt).not.toBe(first.receipt);
    for (const answer of ['ack', 'nack', 'extend'] as const) {
      expect(codeOf(() => broker[answer]('a', first.receipt))).toBe('receipt-mismatch');
    }
    time.advance(LEASE - 1);
    expect(broker.receiptOf('a')).toBe(second.receipt);
    time.advance(1);
    expect(broker.receiptOf('a')).toBeUndefined();
  });

  it('B-29 project, type, priority and age of an evaluation are those of its job', () => {
    const job = { id: 'j', project: 'p', priority: 70, submittedAt: toInstant(START), spec: { type: 'ops' } };
    const made = evaluationOf(job as ClusterJob, { id: 'e', trigger: 'JobPaused', at: START + 5 });
    const asIs = { project: 'p', type: 'ops', priority: 70, createdAt: START, modifiedAt: START + 5 };
    expect(made).toEqual({ id: 'e', jobId: 'j', trigger: 'JobPaused', preempts: true, ...asIs });
  });

  it('B-64 waiting makes more urgent: a point for each half hour, so that a stream of urgent work starves nobody', async () => {
    const hour = 3_600_000;
    const world = new BrokerWorld({ aging: hour / 2 });
    const { broker, time } = world;
    broker.enqueue(evaluation('low', { priority: 48, createdAt: START }));
    broker.enqueue(evaluation('lower', { priority: 47, createdAt: START - hour / 2 }));
    time.advance(hour - 1);
    broker.enqueue(evaluation('fresh', { createdAt: time.now() }));
    expect(await world.drain()).toEqual(['fresh', 'lower', 'low']);
    broker.enqueue(evaluation('low', { priority: 48, createdAt: START }));
    time.advance(1);
    broker.enqueue(evaluation('fresh', { createdAt: time.now() }));
    expect(await world.drain()).toEqual(['low', 'fresh']);
  });

  it('B-64 without aging priority is strict, however long one waits', async () => {
    const world = new BrokerWorld({ aging: 0 });
    world.broker.enqueue(evaluation('low', { priority: 49, createdAt: START - 10 ** 10 }));
    world.broker.enqueue(evaluation('urgent'));
    expect(await world.drain()).toEqual(['urgent', 'low']);
  });
});

describe('ack', () => {
  it('B-30 forgets the evaluation, stops its lease and frees the job', async () => {
    const world = new BrokerWorld();
    const { broker, time } = world;
    broker.enqueue(evaluation('a', { jobId: 'j' }));
    const { receipt } = await world.take();
    broker.ack('a', receipt);
    expect([world.totals, broker.knows('a'), time.nextDue()]).toEqual([[0, 0, 0, 0, 0], false, undefined]);
    broker.enqueue(evaluation('b', { jobId: 'j' }));
    expect(world.totals).toEqual([1, 0, 0, 0, 0]);
  });

  it('B-31 refuses what is unknown or not in flight', async () => {
    const world = new BrokerWorld();
    const { broker } = world;
    broker.enqueue(evaluation('a'));
    expect([codeOf(() => broker.ack('x', 'r')), codeOf(() => broker.ack('a', 'r'))]).toEqual([
      'not-in-flight',
      'not-in-flight',
    ]);
    expect(world.totals).toEqual([1, 0, 0, 0, 0]);
  });

  it('B-32 refuses a wrong receipt, and the evaluation stays in flight', async () => {
    const world = new BrokerWorld();
    world.broker.enqueue(evaluation('a'));
    const { receipt } = await world.take();
    expect(codeOf(() => world.broker.ack('a', 'wrong'))).toBe('receipt-mismatch');
    world.broker.ack('a', receipt);
  });

  it.each([
    ['when its timer has rung', false],
    ['when its timer is late', true],
  ])('B-33 refuses after the lease ran out, %s, and delivers again', async (_when, isLate) => {
    const world = new BrokerWorld();
    const { broker, time } = world;
    broker.enqueue(evaluation('a'));
    const { receipt } = await world.take();
    if (isLate) world.offset = LEASE;
    else time.advance(LEASE);
    expect(codeOf(() => broker.ack('a', receipt))).toBe('lease-over');
    expect(world.totals).toEqual([0, 0, 0, 1, 0]);
    time.advance(5_000);
    const again = await world.take();
    expect(again).toMatchObject({ evaluation: { id: 'a' }, deliveries: 2 });
    expect(codeOf(() => broker.ack('a', receipt))).toBe('lease-over');
    broker.ack('a', again.receipt);
  });

  it('B-34 B-35 B-39 makes one of those that stood behind ready, and all others cancelable', async () => {
    const world = new BrokerWorld();
    const { broker } = world;
    const put = (id: string, priority: number, modifiedAt: number): void =>
      broker.enqueue(evaluation(id, { jobId: 'j', priority, modifiedAt }));
    put('first', 50, 0);
    const { receipt } = await world.take();
    put('old', 60, 1);
    put('low', 50, 9);
    put('new', 60, 2);
    broker.ack('first', receipt);
    expect(world.totals).toEqual([1, 0, 0, 0, 2]);
    expect(await world.drain()).toEqual(['new']);
    expect(world.totals).toEqual([0, 0, 0, 0, 2]);
    const taken = broker.takeSuperseded(10);
    expect([idsOf(taken), taken.map(({ by }) => by)]).toEqual([
      ['old', 'low'],
      ['new', 'new'],
    ]);
    expect(await world.drain()).toEqual([]);
  });

  it('B-34 the one that follows waits for its time when that is still to come', async () => {
    const world = new BrokerWorld();
    const { broker, time } = world;
    broker.enqueue(evaluation('first', { jobId: 'j' }));
    const { receipt } = await world.take();
    broker.enqueue(evaluation('next', { jobId: 'j', waitUntil: time.now() }));
    world.offset = -2_000;
    broker.ack('first', receipt);
    expect(world.totals).toEqual([0, 0, 0, 1, 0]);
    broker.enqueue(evaluation('meanwhile', { jobId: 'j' }));
    expect(await world.drain()).toEqual(['meanwhile']);
    time.advance(2_000);
    expect(await world.drain()).toEqual(['next']);
  });

  it('B-36 works at the limit of deliveries', async () => {
    const world = new BrokerWorld({ deliveryLimit: 2 });
    const { broker, time } = world;
    broker.enqueue(evaluation('a'));
    broker.nack('a', (await world.take()).receipt);
    time.advance(5_000);
    const last = await world.take();
    expect(last.deliveries).toBe(2);
    broker.ack('a', last.receipt);
    expect(world.totals).toEqual([0, 0, 0, 0, 0]);
  });

  it('B-37 B-38 cancelable ones are taken in batches, and then no longer listed', async () => {
    const world = new BrokerWorld();
    const { broker } = world;
    expect(broker.takeSuperseded(5)).toEqual([]);
    broker.enqueue(evaluation('first', { jobId: 'j' }));
    const { receipt } = await world.take();
    for (const id of ['a', 'b', 'c', 'd']) broker.enqueue(evaluation(id, { jobId: 'j' }));
    broker.ack('first', receipt);
    expect(idsOf(broker.takeSuperseded(2))).toEqual(['a', 'b']);
    expect(world.totals.at(-1)).toBe(1);
    expect(idsOf(broker.takeSuperseded(2))).toEqual(['c']);
    expect(broker.takeSuperseded(2)).toEqual([]);
  });
});

describe('a lease', () => {
  it('B-40 answers the receipt of what is in flight, of nothing else', async () => {
    const world = new BrokerWorld();
    world.broker.enqueue(evaluation('a'));
    expect([world.broker.receiptOf('a'), world.broker.receiptOf('x')]).toEqual([undefined, undefined]);
    const { receipt } = await world.take();
    expect(world.broker.receiptOf('a')).toBe(receipt);
  });

  it('B-41 starts whole when it is extended', async () => {
    const world = new BrokerWorld();
    const { broker, time } = world;
    broker.enqueue(evaluation('a'));
    const { receipt } = await world.take();
    for (let count = 0; count < 3; count += 1) {
      time.advance(LEASE - 1);
      broker.extend('a', receipt);
    }
    time.advance(LEASE - 1);
    broker.ack('a', receipt);
  });

  it('B-42 B-43 B-44 is extended in flight, under its receipt, and while it lasts', async () => {
    const world = new BrokerWorld();
    const { broker, time } = world;
    const extend = (receipt: string) => codeOf(() => broker.extend('a', receipt));
    expect(extend('r')).toBe('not-in-flight');
    broker.enqueue(evaluation('a'));
    expect(extend('r')).toBe('not-in-flight');
    const { receipt } = await world.take();
    time.advance(LEASE - 1);
    expect(extend('wrong')).toBe('receipt-mismatch');
    time.advance(1);
    expect(extend(receipt)).toBe('lease-over');
  });

  it('B-51 B-52 B-53 that runs out is a nack: waiting for 5 s, then 30, 60, 90', async () => {
    const world = new BrokerWorld({ deliveryLimit: 9 });
    const { broker, time } = world;
    broker.enqueue(evaluation('a'));
    for (const seconds of [5, 30, 60, 90]) {
      await world.take();
      time.advance(LEASE);
      expect(world.totals).toEqual([0, 0, 0, 1, 0]);
      time.advance(seconds * 1_000 - 1);
      expect(world.totals).toEqual([0, 0, 0, 1, 0]);
      time.advance(1);
      expect(world.totals).toEqual([1, 0, 0, 0, 0]);
    }
  });
});

describe('nack', () => {
  it('B-50 B-52 the evaluation comes back later; an unknown ID or a wrong receipt is refused', async () => {
    const world = new BrokerWorld();
    const { broker, time } = world;
    broker.enqueue(evaluation('a'));
    const { receipt } = await world.take();
    expect([codeOf(() => broker.nack('x', receipt)), codeOf(() => broker.nack('a', 'wrong'))]).toEqual([
      'not-in-flight',
      'receipt-mismatch',
    ]);
    broker.nack('a', receipt);
    expect([await world.next(), world.totals]).toEqual([undefined, [0, 0, 0, 1, 0]]);
    time.advance(5_000);
    expect(await world.drain()).toEqual(['a']);
  });

  it('B-54 the delay keeps the job from others of its kind; a change of a user goes ahead of the retry', async () => {
    const world = new BrokerWorld();
    const { broker } = world;
    broker.enqueue(evaluation('a', { jobId: 'j' }));
    broker.nack('a', (await world.take()).receipt);
    broker.enqueue(evaluation('event', { jobId: 'j' }));
    expect([await world.next(), world.totals]).toEqual([undefined, [0, 0, 1, 1, 0]]);
    broker.enqueue(evaluation('cancel', { jobId: 'j', preempts: true }));
    expect(world.totals).toEqual([1, 0, 1, 0, 1]);
    expect(idsOf(broker.takeSuperseded(9))).toEqual(['a']);
    expect(await world.drain()).toEqual(['cancel', 'event']);
  });

  it('B-54 a change of a user that came before the nack goes ahead as well', async () => {
    const world = new BrokerWorld();
    const { broker } = world;
    broker.enqueue(evaluation('a', { jobId: 'j' }));
    const { receipt } = await world.take();
    broker.enqueue(evaluation('event', { jobId: 'j', modifiedAt: START + 2 }));
    broker.enqueue(evaluation('cancel', { jobId: 'j', preempts: true, modifiedAt: START + 1 }));
    broker.nack('a', receipt);
    expect(world.totals).toEqual([1, 0, 1, 0, 1]);
    expect((await world.take()).evaluation.id).toBe('cancel');
  });

  it('B-54 what was delayed is tried at once when it is asked for, with its count', async () => {
    const world = new BrokerWorld();
    const { broker } = world;
    broker.enqueue(evaluation('a'));
    broker.enqueue(evaluation('later', { waitUntil: START + 9_000 }));
    broker.nack('a', (await world.take()).receipt);
    broker.retryAtOnce();
    expect(world.totals).toEqual([1, 0, 0, 1, 0]);
    expect((await world.take()).deliveries).toBe(2);
  });

  it.each(['nack', 'lease'])('B-55 B-58 by a %s at the limit it is a dead letter, ready at once', async (how) => {
    const world = new BrokerWorld({ deliveryLimit: 2 });
    const { broker, time } = world;
    broker.enqueue(evaluation('a', { jobId: 'j' }));
    for (const delay of [5_000, 0]) {
      const { receipt } = await world.take();
      if (how === 'nack') broker.nack('a', receipt);
      else time.advance(LEASE);
      time.advance(delay);
    }
    expect([await world.next('batch'), broker.counts.readyByType.get('_dlq')]).toEqual([undefined, 1]);
    broker.enqueue(evaluation('b', { jobId: 'j' }));
    const dead = await world.take('_dlq');
    expect(dead).toMatchObject({ evaluation: { id: 'a', type: 'batch' }, queue: '_dlq', deliveries: 3 });
    expect(broker.counts.inFlightByType.get('_dlq')).toBe(1);
    broker.nack('a', dead.receipt);
    const again = await world.take('_dlq');
    broker.ack('a', again.receipt);
    expect(await world.drain('batch')).toEqual(['b']);
  });
});

describe('a job', () => {
  it('B-23 its new priority counts where its evaluations are', async () => {
    const world = new BrokerWorld();
    const { broker } = world;
    broker.enqueue(evaluation('a'));
    broker.enqueue(evaluation('b', { priority: 40, jobId: 'b' }));
    broker.enqueue(evaluation('b2', { priority: 40, jobId: 'b' }));
    broker.setPriority({ project: 'demo', jobId: 'b' }, 60);
    broker.setPriority({ project: 'demo', jobId: 'unknown' }, 60);
    expect(broker.undelivered({ project: 'demo', jobId: 'b' }).map((one) => one.evaluation.priority)).toEqual([60, 60]);
    expect(await world.drain()).toEqual(['b', 'b2', 'a']);
  });

  it('B-23 that is in flight comes back with its new priority', async () => {
    const world = new BrokerWorld();
    const { broker, time } = world;
    broker.enqueue(evaluation('a', { priority: 40 }));
    const { receipt } = await world.take();
    broker.setPriority({ project: 'demo', jobId: 'j-a' }, 60);
    broker.nack('a', receipt);
    broker.enqueue(evaluation('b'));
    time.advance(5_000);
    expect(await world.drain()).toEqual(['a', 'b']);
  });

  it('that is over leaves nothing but what is in flight', async () => {
    const world = new BrokerWorld();
    const { broker, time } = world;
    const of = (id: string, change: Partial<Evaluation> = {}) =>
      broker.enqueue(evaluation(id, { jobId: 'j', ...change }));
    of('a');
    const { receipt } = await world.take();
    of('b');
    of('c', { waitUntil: START + 1_000 });
    broker.enqueueAll([{ evaluation: evaluation('a', { jobId: 'j' }), receipt }]);
    broker.forget('j');
    expect(world.totals).toEqual([0, 1, 0, 0, 0]);
    broker.ack('a', receipt);
    expect([world.totals, time.nextDue()]).toEqual([[0, 0, 0, 0, 0], undefined]);
    of('d');
    broker.nack('d', (await world.take()).receipt);
    of('e');
    broker.forget('j');
    of('f');
    broker.forget('j');
    expect([world.totals, time.nextDue()]).toEqual([[0, 0, 0, 0, 0], undefined]);
  });
});

describe('several workers', () => {
  it('B-62 each idle one gets something as long as there is something', async () => {
    const { broker } = new BrokerWorld();
    const workers = Array.from({ length: 4 }, () => broker.dequeue(['batch'], 0));
    for (const id of ['a', 'b', 'c']) broker.enqueue(evaluation(id));
    const got = await Promise.all(workers.slice(0, 3));
    expect(got.map((one) => one?.evaluation.id)).toEqual(['a', 'b', 'c']);
    expect(broker.counts).toMatchObject({ ready: 0, inFlight: 3 });
    broker.enqueue(evaluation('d'));
    expect((await workers[3])?.evaluation.id).toBe('d');
  });

  it('A-20 what one of them claims first counts when the next is chosen', async () => {
    const shares = { flood: 0, calm: 0.1 };
    const { broker } = new BrokerWorld({ shareOf: (project) => shares[project as 'flood' | 'calm'] });
    const order: string[] = [];
    const worker = async (): Promise<void> => {
      const delivery = await broker.dequeue(['batch'], 0);
      order.push(delivery!.evaluation.id);
      if (delivery!.evaluation.project === 'flood') shares.flood += 0.2;
    };
    const workers = [worker(), worker(), worker()];
    const group = ['f1', 'f2', 'c1'].map((id) => evaluation(id, { project: id.startsWith('f') ? 'flood' : 'calm' }));
    broker.enqueueAll(group.map((one) => ({ evaluation: one })));
    await Promise.all(workers);
    expect(order).toEqual(['f1', 'c1', 'f2']);
  });
});
