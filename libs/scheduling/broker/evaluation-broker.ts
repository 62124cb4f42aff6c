import type { Clock, Ids, Millis, Random, Timers } from '#kernel';
import { BlockedDequeues } from './blocked-dequeues.js';
import { BrokerError } from './broker-error.js';
import { DEAD_LETTERS } from './delivery.js';
import type { Delivery } from './delivery.js';
import type { Evaluation } from './evaluation.js';
import type { Entry, JobName } from './job-evaluations.js';
import { KnownEvaluations } from './known-evaluations.js';
import type { Superseded } from './known-evaluations.js';
import { retryDelay } from './options.js';
import type { BrokerOptions } from './options.js';

export interface BrokerParts {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly ids: Ids;
  /** What a project has of all there is, over its weight; all are equal without it. */
  readonly shareOf?: (project: string) => number;
  /** Told when there is something to take with `takeSuperseded`. */
  readonly superseded?: () => void;
  readonly options: BrokerOptions;
}

export interface BrokerCounts {
  readonly ready: number;
  readonly inFlight: number;
  readonly pending: number;
  /** For their time, or for the next try. */
  readonly waiting: number;
  readonly cancelable: number;
  readonly readyByType: ReadonlyMap<string, number>;
  readonly inFlightByType: ReadonlyMap<string, number>;
}

export interface Undelivered {
  readonly evaluation: Evaluation;
  /** Its turn is all that it waits for. */
  readonly isReady: boolean;
}

/**
 * Hands evaluations to workers, one of a job at a time. The semantics are those of Bacalhau's in-memory evaluation broker,
 * which took them from Nomad's; aging, shares and pre-emption are additions.
 *
 * Everything but the wait of a dequeue happens in the turn of the call. When several dequeues are blocked, one delivery is
 * made in a turn and the next right after what its receiver does first: so what a worker claims counts when the
 * next evaluation is chosen, and still none is ready while a dequeue is blocked that could have it.
 */
export class EvaluationBroker {
  private isOn = false;
  private delivering = false;
  private readonly known: KnownEvaluations;
  private readonly blocked: BlockedDequeues;
  /** By type. */
  private readonly inFlight = new Map<string, number>();

  /** Throws a `RangeError` for a lease of less than no time. */
  constructor(private readonly parts: BrokerParts) {
    const { options, shareOf = () => 0, superseded = () => undefined } = parts;
    if (!(options.leaseTimeout >= 0)) throw new RangeError('the lease of a delivery cannot last less than no time');
    const becameReady = (): void => this.serve();
    this.known = new KnownEvaluations({ ...parts, aging: options.aging, shareOf, superseded, becameReady });
    this.blocked = new BlockedDequeues(parts.timers);
  }

  get counts(): BrokerCounts {
    const { ready } = this.known;
    const inFlight = [...this.inFlight.values()].reduce((sum, count) => sum + count, 0);
    const byType = { readyByType: ready.sizes, inFlightByType: new Map(this.inFlight) };
    return { ready: ready.size, inFlight, ...this.known.counts, ...byType };
  }

  switchOn(): void {
    this.isOn = true;
  }

  /** Forgets everything; blocked dequeues fail. */
  switchOff(): void {
    this.isOn = false;
    for (const { lease } of this.known.all()) lease?.timer.cancel();
    this.known.clear();
    this.inFlight.clear();
    this.blocked.rejectAll(new BrokerError('broker-off'));
  }

  /** Without effect while the broker is off, or when it knows the evaluation. */
  enqueue(evaluation: Evaluation): void {
    this.enqueueAll([{ evaluation }]);
  }

  /**
   * The whole group before anything is delivered. With the receipt of its present delivery an evaluation that is in flight
   * comes again after its ack; with any other receipt it is ignored.
   */
  enqueueAll(group: Iterable<{ readonly evaluation: Evaluation; readonly receipt?: string }>): void {
    if (!this.isOn) return;
    for (const { evaluation, receipt } of group) {
      const entry = this.known.get(evaluation.id);
      if (!entry && receipt === undefined) this.known.admit(evaluation);
      else if (entry?.lease && entry.lease.receipt === receipt) entry.again = evaluation;
    }
    this.serve();
  }

  /**
   * The next evaluation of one of these types, as soon as there is one; nothing when there is none within the timeout, 0 for
   * no limit. Rejects with a `BrokerError` while the broker is off.
   */
  dequeue(types: readonly string[], timeout: Millis): Promise<Delivery | undefined> {
    if (!this.isOn) return Promise.reject(new BrokerError('broker-off'));
    const delivery = this.blocked.add(types, timeout);
    this.serve();
    return delivery;
  }

  /** The evaluation is done. Throws a `BrokerError` unless it is in flight under this receipt. */
  ack(id: string, receipt: string): void {
    const entry = this.inFlightUnder(id, receipt);
    this.release(entry);
    this.known.complete(entry);
    this.serve();
  }

  /** The evaluation failed: it is delivered again later. Throws as `ack` does. */
  nack(id: string, receipt: string): void {
    this.retry(this.inFlightUnder(id, receipt));
    this.serve();
  }

  /** Starts the whole lease anew. Throws as `ack` does. */
  extend(id: string, receipt: string): void {
    const entry = this.inFlightUnder(id, receipt);
    entry.lease?.timer.cancel();
    this.lend(entry, receipt);
  }

  /** Of the present delivery; undefined for an evaluation that is not in flight. */
  receiptOf(id: string): string | undefined {
    return this.known.get(id)?.lease?.receipt;
  }

  knows(id: string): boolean {
    return this.known.get(id) !== undefined;
  }

  /** Everything of the job that is still to be delivered, whatever it waits for; dead letters look at nothing. */
  undelivered(job: JobName): readonly Undelivered[] {
    const found: Undelivered[] = [];
    for (const { evaluation, state, queue } of this.known.ofJob(job)) {
      if (state !== 'in-flight' && queue !== DEAD_LETTERS) found.push({ evaluation, isReady: state === 'ready' });
    }
    return found;
  }

  /** Whether an evaluation of the job is ready or in flight. */
  isLookedAt(jobId: string): boolean {
    for (const { state } of this.known.ofJobId(jobId)) if (state === 'ready' || state === 'in-flight') return true;
    return false;
  }

  /** The evaluations of the job take its new priority where they are. */
  setPriority(job: JobName, priority: number): void {
    this.known.setPriority(job, priority);
  }

  /** There is nothing to look at any more: drops all of the job that is not in flight. */
  forget(jobId: string): void {
    for (const entry of this.known.ofJobId(jobId)) {
      if (entry.state === 'in-flight') entry.again = undefined;
      else this.known.drop(entry);
    }
  }

  /** What was nacked and waits for its next try need not wait any longer. */
  retryAtOnce(): void {
    this.known.retryAtOnce();
    this.serve();
  }

  /** At most so many, the oldest first; they are not listed any more. */
  takeSuperseded(most: number): readonly Superseded[] {
    return this.known.takeSuperseded(most);
  }

  private serve(): void {
    if (this.delivering || this.blocked.size === 0 || this.known.ready.size === 0) return;
    if (!this.blocked.serve((types) => this.deliver(types))) return;
    this.delivering = true;
    queueMicrotask(() => {
      this.delivering = false;
      this.serve();
    });
  }

  private deliver(types: readonly string[]): Delivery | undefined {
    const entry = this.known.take(types);
    if (!entry) return undefined;
    const { evaluation, queue } = entry;
    const receipt = this.parts.ids.next();
    entry.state = 'in-flight';
    entry.deliveries += 1;
    this.inFlight.set(queue, (this.inFlight.get(queue) ?? 0) + 1);
    this.lend(entry, receipt);
    return { evaluation, queue, receipt, deliveries: entry.deliveries };
  }

  private lend(entry: Entry, receipt: string): void {
    const { clock, timers, options } = this.parts;
    const timer = timers.after(options.leaseTimeout, () => this.lapse(entry));
    entry.lease = { receipt, until: clock.now() + options.leaseTimeout, timer };
  }

  /** The lease ran out: the broker's own nack. */
  private lapse(entry: Entry): void {
    entry.lapsed = entry.lease?.receipt;
    this.retry(entry);
    this.serve();
  }

  private retry(entry: Entry): void {
    this.release(entry);
    entry.again = undefined;
    if (entry.deliveries >= this.parts.options.deliveryLimit) this.known.bury(entry);
    else this.known.delay(entry, retryDelay(entry.deliveries));
  }

  /** Ends the delivery. */
  private release(entry: Entry): void {
    entry.lease?.timer.cancel();
    entry.lease = undefined;
    this.inFlight.set(entry.queue, (this.inFlight.get(entry.queue) ?? 0) - 1);
  }

  private inFlightUnder(id: string, receipt: string): Entry {
    const entry = this.known.get(id);
    if (!entry) throw new BrokerError('not-in-flight', id);
    const { lease } = entry;
    const isOver = lease !== undefined && this.parts.clock.now() >= lease.until;
    if (lease?.receipt === receipt && !isOver) return entry;
    // The timer is late: what it would do comes first.
    if (isOver) this.lapse(entry);
    if (entry.lapsed === receipt) throw new BrokerError('lease-over', id);
    throw new BrokerError(entry.lease ? 'receipt-mismatch' : 'not-in-flight', id);
  }
}
