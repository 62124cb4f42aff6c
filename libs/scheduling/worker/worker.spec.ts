import { describe, expect, it } from '@jest/globals';
import type { Delivery } from '../broker/delivery.js';
import type { Evaluation } from '../broker/evaluation.js';
import { BrokerWorld, LEASE } from '../testing/broker-world.js';
import { anEvaluation } from '../testing/evaluations.js';
import type { EvaluationOutcome, SchedulerProvider } from './job-scheduler.js';
import { Worker } from './worker.js';

const PLACED: EvaluationOutcome = { kind: 'placed' };

/** Workers of one broker, with passes that a test ends by hand. */
class WorkerWorld extends BrokerWorld {
  readonly under: {
    readonly evaluation: Evaluation;
    readonly end: (outcome: EvaluationOutcome | Error) => Promise<void>;
  }[] = [];
  readonly faults: string[] = [];

  readonly provider: SchedulerProvider = {
    types: ['batch', 'ops'],
    schedulerFor: (type) => {
      if (type === 'ops') throw new Error('there is no scheduler of type ops');
      return {
        process: (evaluation) =>
          new Promise((resolve, reject) => {
            const end = async (outcome: EvaluationOutcome | Error): Promise<void> => {
              this.under.splice(this.under.indexOf(pass), 1);
              if (outcome instanceof Error) reject(outcome);
              else resolve(outcome);
              await this.time.advanceAsync(0);
            };
            const pass = { evaluation, end };
            this.under.push(pass);
          }),
      };
    },
  };

  worker(broker: ConstructorParameters<typeof Worker>[0]['broker'] = this.broker): Worker {
    const log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
    return new Worker({
      broker,
      provider: this.provider,
      timers: this.time,
      log,
      fault: (kind, type) => void this.faults.push(type === undefined ? kind : `${kind} ${type}`),
      options: { dequeueTimeout: 5_000, leaseTimeout: LEASE },
    });
  }

  async running(): Promise<Worker> {
    const worker = this.worker();
    worker.start();
    await this.time.advanceAsync(0);
    return worker;
  }

  async enqueue(id: string, change: Partial<Evaluation> = {}): Promise<void> {
    this.broker.enqueue(anEvaluation(id, change));
    await this.time.advanceAsync(0);
  }

  get ids(): string[] {
    return this.under.map(({ evaluation }) => evaluation.id);
  }
}

describe('a worker', () => {
  it('W-01 goes through its statuses once, forward only', async () => {
    const world = new WorkerWorld();
    const worker = world.worker();
    const seen = [worker.status];
    worker.start();
    seen.push(worker.status);
    worker.start();
    await world.time.advanceAsync(0);
    seen.push(worker.status);
    worker.start();
    await world.enqueue('a');
    await world.enqueue('b');
    expect(world.ids).toEqual(['a']);
    const stopped = worker.stop();
    seen.push(worker.status);
    worker.start();
    await world.under[0]!.end(PLACED);
    await stopped;
    seen.push(worker.status);
    worker.start();
    await worker.stop();
    seen.push(worker.status);
    expect(seen).toEqual(['Initialized', 'Starting', 'Running', 'Stopping', 'Stopped', 'Stopped']);
    expect(world.totals).toEqual([1, 0, 0, 0, 0]);
  });

  it('W-01 one that was never started is stopped at once, and stays so', async () => {
    const world = new WorkerWorld();
    const worker = world.worker();
    await worker.stop();
    worker.start();
    await world.enqueue('a');
    expect([worker.status, world.totals]).toEqual(['Stopped', [1, 0, 0, 0, 0]]);
  });

  it('W-02 has one evaluation at a time processed and acks it; several workers have several', async () => {
    const world = new WorkerWorld();
    for (let count = 0; count < 3; count += 1) await world.running();
    for (const id of ['a', 'b', 'c', 'd']) await world.enqueue(id);
    expect([world.ids, world.totals]).toEqual([
      ['a', 'b', 'c'],
      [1, 3, 0, 0, 0],
    ]);
    await world.under[1]!.end(PLACED);
    expect(world.ids).toEqual(['a', 'c', 'd']);
    while (world.under.length > 0) await world.under[0]!.end(PLACED);
    expect([world.totals, world.faults]).toEqual([[0, 0, 0, 0, 0], []]);
  });

  it('W-02 dequeues for 5 s at a time, and of the types that the provider has', async () => {
    const world = new WorkerWorld();
    const asked: unknown[] = [];
    const nothing = (...call: unknown[]): Promise<undefined> => {
      asked.push(call);
      return new Promise((resolve) => void world.time.after(5_000, () => resolve(undefined)));
    };
    world.worker(Object.assign(Object.create(world.broker), { dequeue: nothing }) as typeof world.broker).start();
    await world.time.advanceAsync(10_000);
    expect(asked).toEqual(Array.from({ length: 3 }, () => [['batch', 'ops'], 5_000]));
  });

  it('W-02 W-06 nacks what fails and what no scheduler is for, and goes on', async () => {
    const world = new WorkerWorld();
    await world.running();
    await world.enqueue('a');
    await world.under[0]!.end(new Error('the store is away'));
    await world.enqueue('o', { type: 'ops' });
    expect([world.totals, world.faults]).toEqual([
      [0, 0, 0, 2, 0],
      ['process batch', 'process ops'],
    ]);
    await world.time.advanceAsync(5_000);
    expect(world.ids).toEqual(['a']);
    await world.under[0]!.end(PLACED);
    expect(world.totals).toEqual([0, 0, 0, 1, 0]);
  });

  it('W-03 W-06 waits 1, 2, 4 … 30 s after dequeues that fail, and begins anew after one that does not', async () => {
    const world = new WorkerWorld();
    const { broker, time } = world;
    const calls: number[] = [];
    const answers: (Error | undefined)[] = [];
    const dequeue = (): Promise<undefined> => {
      calls.push(time.now());
      const answer = answers.shift();
      return answer ? Promise.reject(answer) : Promise.resolve(undefined);
    };
    for (let count = 0; count < 7; count += 1) answers.push(new Error('off'));
    answers.push(undefined, new Error('off'), new Error('off'), new Error('off'));
    const worker = world.worker(Object.assign(Object.create(broker), { dequeue }) as typeof broker);
    worker.start();
    await time.advanceAsync(94_000);
    const spans = calls.slice(1).map((at, index) => (at - calls[index]!) / 1_000);
    expect(spans).toEqual([1, 2, 4, 8, 16, 30, 30, 0, 1, 2]);
    expect(world.faults).toEqual(Array.from({ length: 10 }, () => 'dequeue'));
    await worker.stop();
    expect(time.nextDue()).toBeUndefined();
  });

  it('W-04 stopped during a pass it finishes and acks that one', async () => {
    const world = new WorkerWorld();
    const worker = await world.running();
    await world.enqueue('a');
    await world.enqueue('b');
    let isQuiet = false;
    const stopped = worker.stop();
    void worker.quiet().then(() => (isQuiet = true));
    await world.time.advanceAsync(0);
    expect([isQuiet, worker.status]).toEqual([false, 'Stopping']);
    await world.under[0]!.end(PLACED);
    await stopped;
    expect([isQuiet, world.ids, world.totals]).toEqual([true, [], [1, 0, 0, 0, 0]]);
  });

  it('W-04 stopped while it dequeues it nacks what arrives after that', async () => {
    const world = new WorkerWorld();
    const worker = await world.running();
    const stopped = worker.stop();
    await world.enqueue('late');
    await stopped;
    expect([world.ids, world.totals, world.faults]).toEqual([[], [0, 0, 0, 1, 0], []]);
  });

  it('W-04 stopped while it dequeues it ends with the broker, which is no fault', async () => {
    const world = new WorkerWorld();
    const worker = await world.running();
    const stopped = worker.stop();
    world.broker.switchOff();
    await stopped;
    expect([worker.status, world.faults]).toEqual(['Stopped', []]);
  });

  it('W-05 extends the lease of a long pass, so that nobody else gets its evaluation', async () => {
    const world = new WorkerWorld();
    await world.running();
    await world.running();
    await world.enqueue('a');
    await world.time.advanceAsync(10 * LEASE);
    expect([world.ids, world.totals]).toEqual([['a'], [0, 1, 0, 0, 0]]);
    await world.under[0]!.end(PLACED);
    expect([world.totals, world.faults]).toEqual([[0, 0, 0, 0, 0], []]);
  });

  it('W-05 W-06 one that lost its lease cannot ack any more', async () => {
    const world = new WorkerWorld();
    await world.running();
    await world.enqueue('a');
    world.offset = LEASE;
    await world.time.advanceAsync(LEASE / 2);
    expect(world.totals).toEqual([0, 0, 0, 1, 0]);
    await world.time.advanceAsync(3 * LEASE);
    await world.under[0]!.end(PLACED);
    expect([world.ids, world.faults]).toEqual([['a'], ['ack batch']]);
    await world.under[0]!.end(PLACED);
    expect(world.totals).toEqual([0, 0, 0, 0, 0]);
  });

  it('W-06 counts a nack that the broker refused', async () => {
    const world = new WorkerWorld();
    await world.running();
    await world.enqueue('a');
    const { receipt } = { receipt: world.broker.receiptOf('a')! } satisfies Partial<Delivery>;
    world.broker.nack('a', receipt);
    await world.under[0]!.end(new Error('its stream cannot be written'));
    expect(world.faults).toEqual(['process batch', 'nack batch']);
  });
});
