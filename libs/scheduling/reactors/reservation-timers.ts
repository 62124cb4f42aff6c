import { toInstant, toMillis } from '#kernel';
import type { Clock, Instant, Millis, Timer, Timers } from '#kernel';
import type { RecordedEvent } from '#event-store';
import { jobIdOfExecution, jobStream } from '#jobs';
import type { JobCommand, JobEvent, JobState } from '#jobs';
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
const RETRY_AFTER: Millis = 1_000;

/**
 * Ends reservations that were not confirmed in time.
 *
 * One timer for each unconfirmed reservation. It is set when the reservation appears in the log, or at `start` for those
 * found there; these get the whole of their confirmation time again, counted from the start, because their nodes could
 * not reach a control plane that was down. It ends when the reservation is confirmed, declined or otherwise over, or
 * fires once and asks the job to let it expire; the job decides.
 */
export class ReservationTimers {
  private readonly set = new Map<string, Timer>();
  private stopListening: (() => void) | undefined;

  constructor(private readonly parts: ReservationTimersParts) {}

  start(): void {
    this.stopListening = this.parts.view.listen((event) => this.hear(event));
    const now = this.parts.clock.now();
    for (const job of this.parts.view.cluster.jobs.values()) {
      const grace = now + job.spec.timeouts.confirm * 1000;
      for (const { executionId, state, confirmBy } of job.executions.values()) {
        if (state === 'reserved') this.watch(executionId, Math.max(grace, toMillis(confirmBy)));
      }
    }
  }

  stop(): void {
    this.stopListening?.();
    for (const timer of this.set.values()) timer.cancel();
    this.set.clear();
  }

  private hear({ type, data }: RecordedEvent): void {
    const event = { type, data } as JobEvent;
    switch (event.type) {
      case 'ExecutionReserved':
        this.watch(event.data.executionId, toMillis(event.data.confirmBy));
        return;
      case 'ReservationConfirmed':
      case 'ReservationDeclined':
      case 'ReservationExpired':
      case 'ExecutionCancelled':
        this.forget(event.data.executionId);
        return;
      default:
    }
  }

  private watch(executionId: string, due: Millis): void {
    this.forget(executionId);
    const delay = Math.max(0, due - this.parts.clock.now());
    this.set.set(
      executionId,
      this.parts.timers.after(delay, () => void this.expire(executionId, toInstant(this.parts.clock.now()))),
    );
  }

  private forget(executionId: string): void {
    this.set.get(executionId)?.cancel();
    this.set.delete(executionId);
  }

  private async expire(executionId: string, at: Instant): Promise<void> {
    this.set.delete(executionId);
    try {
      const command: JobCommand = { type: 'ExpireReservation', executionId, at };
      const answer = await this.parts.jobs.handle(jobStream(jobIdOfExecution(executionId)), command, ACTOR);
      if (answer.kind === 'done' && answer.events > 0) this.parts.observer.expired?.();
    } catch (error) {
      this.parts.log.warn({ executionId, err: error }, 'the reservation did not expire yet, it is tried again');
      if (this.stopListening) this.watch(executionId, this.parts.clock.now() + RETRY_AFTER);
    }
  }
}
