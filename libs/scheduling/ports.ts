import type { CommandContext, Handled } from '#event-store';
import type { Millis } from '#kernel';
import type { BrokerOptions } from './broker/options.js';
import type { WorkerFault } from './worker/worker-fault.js';

/** Runs a command of one kind of stream; the event store's generic handler is one. */
export interface Commands<Command, State> {
  handle(stream: string, command: Command, context: CommandContext): Promise<Handled<State>>;
}

/** When each node was last heard of, by whichever process it spoke to. */
export interface PresenceSource {
  lastSeen(): Promise<ReadonlyMap<string, Millis>>;
}

export interface SchedulingLog {
  debug(details: object, message: string): void;
  info(details: object, message: string): void;
  warn(details: object, message: string): void;
  error(details: object, message: string): void;
}

/** What happened, for counters; every member is called at most once per occurrence. */
export interface SchedulingObserver {
  decided?(outcome: string, millis: Millis): void;
  /** Begins to measure what is told in milliseconds, where that is to be finer than the clock; answers the span so far. */
  stopwatch?(): () => Millis;
  /** A plan was carried out: how many executions it placed and stopped, and how many decisions it recorded that placed none. */
  planned?(counts: { readonly placed: number; readonly deferred: number; readonly stopped: number }): void;
  conflict?(stream: 'job' | 'node'): void;
  /** A part of a job has found a place, so long after it entered the queue. */
  waited?(millis: Millis): void;
  /** A run is over, so long after its start. */
  ran?(result: 'succeeded' | 'failed' | 'timeout' | 'lost' | 'cancelled', millis: Millis): void;
  /** A recorded decision ruled out so many nodes for this reason above all. */
  filtered?(reason: string, nodes: number): void;
  expired?(): void;
  lost?(): void;
  /** A timeout ended a job or a try. */
  timedOut?(): void;
  /** A worker met a fault; with the type of the evaluation, if it had one. */
  workerFault?(kind: WorkerFault, type?: string): void;
  /** An evaluation failed too often. */
  deadLettered?(): void;
  /** So many evaluations were recorded as superseded. */
  superseded?(count: number): void;
  /** The safety sweep placed a job: an event that should have woken it was missed. */
  overlooked?(): void;
}

/** Waiting spans in milliseconds, and bounds. */
export interface SchedulingOptions extends BrokerOptions {
  /** A node that is silent for longer is offline. */
  readonly offlineAfter: Millis;
  /** A node that is offline for longer has lost what it ran. */
  readonly lostAfter: Millis;
  /** How long after the end of its time a run may be over by its node's own word, before it is recorded as timed out. Under a second. */
  readonly runMargin: Millis;
  /** The same for runs from before the control plane or its store was away, counted from its return. */
  readonly runGrace: Millis;
  /** How often presence is looked at. */
  readonly presenceInterval: Millis;
  /** How often everything that waits is looked at again, should an event have been missed. */
  readonly sweepInterval: Millis;
  /** How often node ledgers are compared with the jobs. */
  readonly reconcileInterval: Millis;
  /** Evaluations under way at once. A worker waits for the stores more than it computes, so there are many for each core. */
  readonly workers: number;
  /** How long a worker waits for an evaluation before it asks again. */
  readonly dequeueTimeout: Millis;
}

export const DEFAULT_SCHEDULING: SchedulingOptions = {
  offlineAfter: 15_000,
  lostAfter: 60_000,
  runMargin: 700,
  runGrace: 30_000,
  presenceInterval: 1_000,
  sweepInterval: 300_000,
  reconcileInterval: 10_000,
  workers: 64,
  dequeueTimeout: 5_000,
  leaseTimeout: 60_000,
  deliveryLimit: 10,
  aging: 30 * 60_000,
};
