import { toInstant, toMillis } from '#kernel';
import type { Clock, Millis, Timer, Timers } from '#kernel';
import type { RecordedEvent } from '#event-store';
import { jobIdOfExecution, jobStream } from '#jobs';
import type { JobCommand, JobEvent, JobState } from '#jobs';
import type { ClusterJob } from '#placement';
import type { Commands, SchedulingLog, SchedulingObserver } from '../ports.js';
import type { ClusterView } from '../view/cluster-view.js';

export interface ReservationTimersParts {
  readonly view: ClusterView;
  readonly jobs: Commands<JobCommand, JobState>;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: SchedulingLog;
  readonly observer: SchedulingObserver;
}

const ACTOR = { actor: 'system:reservations' };

/** A reservation that nobody has confirmed yet. `confirm`: how long its node has for that, in milliseconds. */
interface Unconfirmed {
  readonly timer: Timer;
  readonly due: Millis;
  readonly confirm: Millis;
}

/**
 * Ends reservations that were not confirmed in time.
 *
 * One timer for each unconfirmed reservation. It is set when the reservation appears in the log, or at `start` for those
 * found there. It ends when the reservation is confirmed, declined or otherwise over, or fires and asks the job to let it
 * expire; the job decides. Whenever the control plane or the store was away the node could not confirm: then every
 * reservation gets the whole of its confirmation time again, counted from the start, the store's return, or the attempt
 * that failed.
 */
export class ReservationTimers {
  private readonly unconfirmed = new Map<string, Unconfirmed>();
  private stopListening: (() => void)[] = [];

  constructor(private readonly parts: ReservationTimersParts) {}

  start(): void {
    const { view } = this.parts;
    this.stopListening = [view.listen((event) => this.hear(event)), view.onReturn(() => this.graceForAll())];
    for (const job of view.cluster.jobs.values()) {
      for (const { executionId, state, confirmBy } of job.executions.values()) {
        if (state === 'reserved') this.watch(executionId, toMillis(confirmBy), confirmSpan(job));
      }
    }
    this.graceForAll();
  }

  stop(): void {
    for (const stop of this.stopListening.splice(0)) stop();
    for (const { timer } of this.unconfirmed.values()) timer.cancel();
    this.unconfirmed.clear();
  }

  private hear({ type, data }: RecordedEvent): void {
    const event = { type, data } as JobEvent;
    switch (event.type) {
      case 'ExecutionReserved': {
        const { executionId, confirmBy } = event.data;
        const job = this.parts.view.cluster.jobs.get(jobIdOfExecution(executionId));
        if (job) this.watch(executionId, toMillis(confirmBy), confirmSpan(job));
        return;
      }
      case 'ReservationConfirmed':
      case 'ReservationDeclined':
      case 'ReservationExpired':
      case 'ExecutionCancelled':
      case 'ExecutionFailed':
        this.forget(event.data.executionId);
        return;
      default:
    }
  }

  private graceForAll(): void {
    const now = this.parts.clock.now();
    for (const [executionId, { due, confirm }] of this.unconfirmed) {
      if (due < now + confirm) this.watch(executionId, now + confirm, confirm);
    }
  }

  private watch(executionId: string, due: Millis, confirm: Millis): void {
    this.forget(executionId);
    const { clock, timers } = this.parts;
    const timer = timers.after(Math.max(0, due - clock.now()), () => void this.expire(executionId, confirm));
    this.unconfirmed.set(executionId, { timer, due, confirm });
  }

  private forget(executionId: string): void {
    this.unconfirmed.get(executionId)?.timer.cancel();
    this.unconfirmed.delete(executionId);
  }

  private async expire(executionId: string, confirm: Millis): Promise<void> {
    const { clock, jobs, log, observer, view } = this.parts;
    // The return will set every timer anew.
    if (!view.ready) {
      this.watch(executionId, clock.now() + confirm, confirm);
      return;
    }
    this.unconfirmed.delete(executionId);
    try {
      const command: JobCommand = { type: 'ExpireReservation', executionId, at: toInstant(clock.now()) };
      const answer = await jobs.handle(jobStream(jobIdOfExecution(executionId)), command, ACTOR);
      if (answer.kind !== 'done' || this.stopListening.length === 0) return;
      if (answer.events > 0) observer.expired?.();
      const execution = answer.state.executions[executionId];
      // Still early, by the clock that set the deadline.
      if (execution?.state === 'reserved') this.watch(executionId, toMillis(execution.confirmBy), confirm);
    } catch (error) {
      log.warn({ executionId, err: error }, 'the reservation did not expire yet, it is tried again');
      if (this.stopListening.length > 0) this.watch(executionId, clock.now() + confirm, confirm);
    }
  }
}

const confirmSpan = ({ spec }: ClusterJob): Millis => spec.timeouts.confirm * 1000;
