import { countingIds, FakeTime, seededRandom, toMillis } from '#kernel';
import type { Millis } from '#kernel';
import { EPOCH } from '#testing';
import type { Delivery } from '../broker/delivery.js';
import { EvaluationBroker } from '../broker/evaluation-broker.js';
import type { BrokerCounts, BrokerParts } from '../broker/evaluation-broker.js';
import type { BrokerOptions } from '../broker/options.js';

export const LEASE: Millis = 10_000;
export const START = toMillis(EPOCH);

/** A broker, switched on unless said otherwise, on a clock that a test moves. */
export class BrokerWorld {
  readonly time = new FakeTime(START);
  /** How far the clock is off the timers. */
  offset: Millis = 0;
  readonly broker: EvaluationBroker;

  constructor(options: Partial<BrokerOptions> & Pick<BrokerParts, 'shareOf'> & { readonly off?: boolean } = {}) {
    const { off = false, shareOf, ...changed } = options;
    this.broker = new EvaluationBroker({
      clock: { now: () => this.time.now() + this.offset },
      timers: this.time,
      random: seededRandom(7),
      ids: countingIds(),
      ...(shareOf ? { shareOf } : {}),
      options: { leaseTimeout: LEASE, deliveryLimit: 3, aging: 0, ...changed },
    });
    if (!off) this.broker.switchOn();
  }

  /** What is delivered at once, or nothing. */
  async next(...types: readonly string[]): Promise<Delivery | undefined> {
    const waiting = this.broker.dequeue(types.length > 0 ? types : ['batch'], 1);
    const nothing = Symbol();
    const settled = await Promise.race([waiting, new Promise((resolve) => setImmediate(() => resolve(nothing)))]);
    if (settled !== nothing) return settled as Delivery | undefined;
    this.time.advance(1);
    return waiting;
  }

  /** The one that must be there. */
  async take(...types: readonly string[]): Promise<Delivery> {
    const delivery = await this.next(...types);
    if (!delivery) throw new Error('nothing is ready');
    return delivery;
  }

  /** IDs in the order of their delivery, each acked before the next. */
  async drain(...types: readonly string[]): Promise<string[]> {
    const ids: string[] = [];
    for (let next = await this.next(...types); next; next = await this.next(...types)) {
      ids.push(next.evaluation.id);
      this.broker.ack(next.evaluation.id, next.receipt);
    }
    return ids;
  }

  /** Ready, in flight, pending, waiting, cancelable. */
  get totals(): readonly number[] {
    return totalsOf(this.broker.counts);
  }
}

export const totalsOf = ({ ready, inFlight, pending, waiting, cancelable }: BrokerCounts): readonly number[] => [
  ready,
  inFlight,
  pending,
  waiting,
  cancelable,
];
