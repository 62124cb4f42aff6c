import type { Millis, Timer, Timers } from '#kernel';
import type { Delivery } from '../broker/delivery.js';
import type { EvaluationBroker } from '../broker/evaluation-broker.js';
import { GrowingWait } from '../growing-wait.js';
import type { SchedulingLog } from '../ports.js';
import type { SchedulerProvider } from './job-scheduler.js';
import type { WorkerFault } from './worker-fault.js';

/** In this order, never back. */
export type WorkerStatus = 'Initialized' | 'Starting' | 'Running' | 'Stopping' | 'Stopped';

export interface WorkerParts {
  readonly broker: Pick<EvaluationBroker, 'dequeue' | 'ack' | 'nack' | 'extend'>;
  readonly provider: SchedulerProvider;
  readonly timers: Timers;
  readonly log: SchedulingLog;
  /** Each fault, with the type of the evaluation if there is one. */
  readonly fault: (kind: WorkerFault, type?: string) => void;
  readonly options: {
    /** How long one dequeue waits. */
    readonly dequeueTimeout: Millis;
    /** As the broker has it. */
    readonly leaseTimeout: Millis;
  };
}

/**
 * Takes one evaluation after the other from the broker and has it processed.
 *
 * *Starting*: from `start` until the end of that turn. *Running*: waits for an evaluation, or for the end of the pause after a
 * dequeue that failed, or has a pass under way, whose lease it extends at half its time; a pass that throws is nacked,
 * any other acked. *Stopping*: from `stop`; a pass under way is finished and acked, what arrives still is nacked
 * unprocessed. *Stopped*: when that is done.
 */
export class Worker {
  private current: WorkerStatus = 'Initialized';
  private over: Promise<void> = Promise.resolve();
  private pass: Promise<void> | undefined;
  private readonly pause: GrowingWait;

  constructor(private readonly parts: WorkerParts) {
    this.pause = new GrowingWait(parts.timers);
  }

  get status(): WorkerStatus {
    return this.current;
  }

  /** Without effect but the first time. */
  start(): void {
    if (this.current !== 'Initialized') return;
    this.current = 'Starting';
    this.over = this.run();
  }

  /** Resolves when it has stopped: a dequeue under way ends in its time, or with the broker's. */
  async stop(): Promise<void> {
    if (this.current === 'Initialized') this.current = 'Stopped';
    if (this.current === 'Starting' || this.current === 'Running') this.current = 'Stopping';
    this.pause.end();
    await this.over;
  }

  /** Resolves when no pass is under way. */
  async quiet(): Promise<void> {
    await this.pass;
  }

  private async run(): Promise<void> {
    await Promise.resolve();
    if (this.is('Starting')) this.current = 'Running';
    const { broker, provider, options, fault, log } = this.parts;
    let failed = 0;
    while (this.is('Running')) {
      try {
        // Nothing between the arrival and the start of the pass: the broker's next choice is made right after.
        const delivery = await broker.dequeue(provider.types, options.dequeueTimeout);
        failed = 0;
        if (delivery) await this.take(delivery);
      } catch (error) {
        if (!this.is('Running')) break;
        fault('dequeue');
        log.warn({ err: error }, 'no evaluation could be dequeued, it is tried again');
        await this.pause.after(failed);
        failed += 1;
      }
    }
    this.current = 'Stopped';
  }

  private take(delivery: Delivery): Promise<void> | undefined {
    if (!this.is('Running')) {
      this.answer('nack', delivery);
      return undefined;
    }
    this.pass = this.process(delivery);
    return this.pass;
  }

  private async process(delivery: Delivery): Promise<void> {
    const { evaluation, queue } = delivery;
    const lease = this.keep(delivery);
    try {
      await this.parts.provider.schedulerFor(queue).process(evaluation);
    } catch (error) {
      const { jobId, id, trigger } = evaluation;
      this.parts.fault('process', queue);
      this.parts.log.warn({ jobId, evaluationId: id, trigger, err: error }, 'an evaluation failed, it is tried again');
      lease?.cancel();
      this.answer('nack', delivery);
      return;
    }
    lease?.cancel();
    this.answer('ack', delivery);
  }

  /** A lease that could not be extended is lost: the pass goes on, and the revision of its stream decides. */
  private keep({ evaluation, receipt }: Delivery): Timer | undefined {
    const { broker, timers, log, options } = this.parts;
    if (options.leaseTimeout < 2) return undefined;
    const timer = timers.every(options.leaseTimeout / 2, () => {
      try {
        broker.extend(evaluation.id, receipt);
      } catch (error) {
        log.warn({ jobId: evaluation.jobId, evaluationId: evaluation.id, err: error }, 'a pass has lost its lease');
        timer.cancel();
      }
    });
    return timer;
  }

  private answer(how: 'ack' | 'nack', { evaluation, queue, receipt }: Delivery): void {
    try {
      this.parts.broker[how](evaluation.id, receipt);
    } catch (error) {
      const { jobId, id } = evaluation;
      this.parts.fault(how, queue);
      this.parts.log.warn({ jobId, evaluationId: id, err: error }, `the broker refused the ${how} of an evaluation`);
    }
  }

  private is(status: WorkerStatus): boolean {
    return this.current === status;
  }
}
