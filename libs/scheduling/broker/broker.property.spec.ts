import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { BrokerModel } from '../testing/broker-model.js';
import type { Seen } from '../testing/broker-model.js';
import { BrokerWorld, LEASE, START, totalsOf } from '../testing/broker-world.js';
import { anEvaluation } from '../testing/evaluations.js';
import type { BrokerError } from './broker-error.js';
import type { Delivery } from './delivery.js';
import type { Evaluation } from './evaluation.js';

const AGING = 60_000;
const TYPES = ['batch', 'ops', '_dlq'];

interface Made {
  readonly id: number;
  readonly jobId: string;
  readonly priority: number;
  readonly preempts: boolean;
  readonly age: number;
  readonly modifiedAt: number;
  /** From the moment at which the step is done; 0 for none. */
  readonly waits: number;
}

type Receipt = 'present' | 'earlier' | 'wrong' | 'none';

type Step =
  | { readonly does: 'enqueue'; readonly group: readonly { readonly made: Made; readonly receipt: Receipt }[] }
  | { readonly does: 'dequeue'; readonly types: readonly string[]; readonly timeout: number }
  | { readonly does: 'ack' | 'nack' | 'extend'; readonly nth: number; readonly receipt: Receipt }
  | { readonly does: 'advance'; readonly span: number }
  | { readonly does: 'take'; readonly most: number }
  | { readonly does: 'priority'; readonly jobId: string; readonly priority: number }
  | { readonly does: 'forget'; readonly jobId: string }
  | { readonly does: 'retry' | 'on' | 'off' };

/** Few, so that they meet. */
const jobs = fc.constantFrom('x', 'y', 'z');

const made: fc.Arbitrary<Made> = fc.record({
  id: fc.integer({ min: 0, max: 11 }),
  jobId: jobs,
  priority: fc.integer({ min: 0, max: 2 }),
  preempts: fc.boolean(),
  age: fc.integer({ min: 0, max: 200_000 }),
  modifiedAt: fc.integer({ min: 0, max: 2 }),
  waits: fc.constantFrom(0, 0, 0, -5, 1, 4_000, 40_000),
});

const plain = fc.record({ made, receipt: fc.constant<Receipt>('none') });
const mixed = fc.record({ made, receipt: fc.constantFrom<Receipt[]>('present', 'earlier', 'wrong', 'none') });

const ofWeight = (weight: number, arbitrary: fc.Arbitrary<Step>): fc.WeightedArbitrary<Step> => ({ weight, arbitrary });

const steps: fc.Arbitrary<Step> = fc.oneof(
  ofWeight(6, fc.record({ does: fc.constant('enqueue'), group: fc.array(plain, { minLength: 1, maxLength: 1 }) })),
  ofWeight(2, fc.record({ does: fc.constant('enqueue'), group: fc.array(mixed, { maxLength: 4 }) })),
  ofWeight(
    6,
    fc.record({
      does: fc.constant('dequeue'),
      types: fc.subarray(TYPES, { minLength: 1 }),
      timeout: fc.constantFrom(0, 1, 5_000),
    }),
  ),
  ofWeight(
    7,
    fc.record({
      does: fc.constantFrom('ack', 'ack', 'nack', 'extend'),
      nth: fc.nat(5),
      receipt: fc.constantFrom<Receipt[]>('present', 'present', 'present', 'earlier', 'wrong'),
    }),
  ),
  ofWeight(3, fc.record({ does: fc.constant('advance'), span: fc.constantFrom(1, 4_999, 5_000, LEASE, 31_000) })),
  ofWeight(1, fc.record({ does: fc.constant('take'), most: fc.nat(3) })),
  ofWeight(1, fc.record({ does: fc.constant('priority'), jobId: jobs, priority: fc.nat(3) })),
  ofWeight(1, fc.record({ does: fc.constant('forget'), jobId: jobs })),
  ofWeight(1, fc.record({ does: fc.constantFrom('retry', 'retry', 'on', 'on', 'off') })),
);

/** Broker and model side by side. */
class Pair {
  readonly world = new BrokerWorld({ deliveryLimit: 3, aging: AGING });
  private readonly seen: Seen[] = [];
  private readonly model = new BrokerModel(START, { lease: LEASE, limit: 3, aging: AGING }, this.seen);
  private readonly ended = new Map<number, 'nothing' | 'failed'>();
  private readonly receipts = new Map<string, string[]>();
  private calls = 0;

  constructor() {
    this.model.switchOn();
  }

  async step(step: Step): Promise<void> {
    const { world, model } = this;
    const { broker, time } = world;
    switch (step.does) {
      case 'enqueue': {
        const group = step.group.map((one) => this.make(one));
        broker.enqueueAll(group);
        await arrived();
        model.enqueueAll(group);
        return;
      }
      case 'dequeue':
        this.dequeue(step.types, step.timeout);
        await arrived();
        model.dequeue(this.calls, step.types, step.timeout);
        return;
      case 'advance':
        await time.advanceAsync(step.span);
        model.advance(step.span);
        return;
      case 'take':
        expect(broker.takeSuperseded(step.most).map((one) => one.evaluation.id)).toEqual(model.take(step.most));
        return;
      case 'priority':
        broker.setPriority({ project: 'demo', jobId: step.jobId }, step.priority);
        model.setPriority(step.jobId, step.priority);
        return;
      case 'forget':
        broker.forget(step.jobId);
        model.forget(step.jobId);
        return;
      case 'retry':
        broker.retryAtOnce();
        await arrived();
        model.retryAtOnce();
        return;
      case 'on':
        broker.switchOn();
        model.switchOn();
        return;
      case 'off':
        broker.switchOff();
        await arrived();
        model.switchOff();
        return;
      default:
        await this.answer(step.does, step.nth, step.receipt);
    }
  }

  /** Totals, counts by type, receipts and ends of calls. */
  compare(): void {
    const { counts } = this.world.broker;
    const { model } = this;
    const inFlight = model.known.filter(({ state }) => state === 'in-flight');
    const real = {
      totals: totalsOf(counts),
      ready: TYPES.map((type) => counts.readyByType.get(type) ?? 0),
      inFlight: TYPES.map((type) => counts.inFlightByType.get(type) ?? 0),
      receipts: inFlight.map(({ evaluation: { id } }) => this.world.broker.receiptOf(id)),
      ended: this.ended,
      undelivered: 0,
    };
    expect(real).toEqual({
      totals: model.totals,
      ready: TYPES.map((type) => model.countOf('ready', type)),
      inFlight: TYPES.map((type) => model.countOf('in-flight', type)),
      receipts: inFlight.map(({ receipt }) => receipt),
      ended: model.ended,
      undelivered: this.seen.length,
    });
    if (new Set(inFlight.map(({ evaluation }) => evaluation.jobId)).size < inFlight.length)
      throw new Error('two of one job');
  }

  private make({ made: { id, age, waits, ...asIs }, receipt }: { readonly made: Made; readonly receipt: Receipt }): {
    readonly evaluation: Evaluation;
    readonly receipt?: string;
  } {
    const type = asIs.jobId === 'z' ? 'ops' : 'batch';
    const time = waits === 0 ? {} : { waitUntil: this.world.time.now() + waits };
    const evaluation = anEvaluation(String(id), { ...asIs, type, createdAt: START - age, ...time });
    return receipt === 'none' ? { evaluation } : { evaluation, receipt: this.receipt(evaluation.id, receipt) };
  }

  private receipt(id: string, which: Receipt): string {
    const all = this.receipts.get(id) ?? [];
    return (which === 'present' ? all.at(-1) : which === 'earlier' ? all.at(-2) : undefined) ?? 'wrong';
  }

  private dequeue(types: readonly string[], timeout: number): void {
    const call = (this.calls += 1);
    const got = (delivery: Delivery | undefined): void => {
      if (!delivery) return void this.ended.set(call, 'nothing');
      const { receipt, evaluation } = delivery;
      this.seen.push({ call, id: evaluation.id, receipt });
      this.receipts.set(evaluation.id, [...(this.receipts.get(evaluation.id) ?? []), receipt]);
    };
    void this.world.broker.dequeue(types, timeout).then(got, () => void this.ended.set(call, 'failed'));
  }

  private async answer(how: 'ack' | 'nack' | 'extend', nth: number, receipt: Receipt): Promise<void> {
    const ids = [...this.receipts.keys()];
    const id = ids[nth % Math.max(1, ids.length)] ?? 'unknown';
    const under = this.receipt(id, receipt);
    let code: string | undefined;
    try {
      this.world.broker[how](id, under);
    } catch (error) {
      ({ code } = error as BrokerError);
    }
    await arrived();
    expect(this.model.answer(how, id, under)).toBe(code);
  }
}

/** Whatever the broker delivered has reached its receiver. */
const arrived = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('the broker and its model', () => {
  it('B-05 B-08 B-11 B-14 B-23 B-24 B-29 B-34 B-54 B-60 B-61 B-62 B-64 never differ, whatever is done', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(steps, { maxLength: 150, size: 'max' }), async (all) => {
        const pair = new Pair();
        for (const step of all) {
          await pair.step(step);
          pair.compare();
        }
      }),
      { numRuns: 200 },
    );
  }, 120_000);
});
