import type { Millis, Rejection } from '#kernel';
import type { Contract } from '#nodes';
import { frozenCopy } from '../frozen.js';
import type { Estimate } from '../budget/index.js';
import type { Reservation } from '../governor.js';
import type { Lane } from './lane.js';
import type { TaskControl, TaskDependency, TaskEnd, TaskRequest, TaskState, TaskView, Work } from './task.js';

export type TaskLane = Lane<TaskRecord>;

/** What the queue keeps of a task. Only the queue changes it. */
export class TaskRecord {
  readonly id: string;
  readonly estimate: Estimate;
  readonly priority: number;
  readonly dependents: TaskRecord[] = [];
  readonly ended = Promise.withResolvers<TaskEnd>();
  state: TaskState = 'pending';
  unmet: readonly TaskDependency[];
  contract: Contract | undefined;
  reservation: Reservation | undefined;
  reason: Rejection | undefined;
  /** Set when cancelling was asked for; the callback may still run. */
  cancelled: Rejection | undefined;
  private readonly work: Work<unknown>;
  private readonly foresee: TaskRequest['endsBy'];
  private readonly abort = new AbortController();
  private resumed = Promise.withResolvers<undefined>();
  private startedAt: Millis = 0;
  private pausedFor: Millis = 0;
  private pausedSince: Millis | undefined;

  constructor(
    request: TaskRequest,
    readonly lane: TaskLane,
    readonly sequence: number,
  ) {
    this.id = request.id;
    this.estimate = frozenCopy(request.estimate);
    this.priority = request.priority ?? 0;
    this.work = request.work;
    this.foresee = request.endsBy;
    this.unmet = frozenCopy(request.dependsOn ?? []);
  }

  get isOver(): boolean {
    return this.state === 'completed' || this.state === 'failed' || this.state === 'cancelled';
  }

  /** Calls the callback with a copy of the contract; only a started task has one. */
  async perform(): Promise<unknown> {
    if (!this.contract || !this.reservation) throw new Error(`${this.id} has no reservation`);
    return this.work(frozenCopy(this.contract), this.control());
  }

  start(reservation: Reservation, contract: Contract, now: Millis): void {
    this.reservation = reservation;
    this.contract = contract;
    this.reason = undefined;
    this.startedAt = now;
    this.state = 'running';
  }

  pause(now: Millis): void {
    this.state = 'paused';
    this.pausedSince = now;
    this.resumed = Promise.withResolvers();
  }

  resume(now: Millis): void {
    this.state = 'running';
    this.pausedFor += now - (this.pausedSince ?? now);
    this.pausedSince = undefined;
    this.resumed.resolve(undefined);
  }

  cancel(reason: Rejection): void {
    this.cancelled = reason;
    this.abort.abort(reason);
    this.resumed.resolve(undefined);
  }

  /** When it is expected to end if it starts at `now`, or has started; what is overdue is expected now. */
  endsBy(now: Millis): Millis | undefined {
    if (this.pausedSince !== undefined) return undefined;
    const end = this.reservation && this.foresee ? this.foresee(now) : this.endByEstimate(now);
    return end === undefined ? undefined : Math.max(now, end);
  }

  view(expectedStart: Millis | undefined): TaskView {
    const { id, state, lane, priority, estimate, contract, reason } = this;
    return {
      id,
      state,
      lane: lane.name,
      priority,
      estimate,
      blockedBy: this.unmet.map(({ task }) => task),
      ...(contract && { contract }),
      ...(reason && { reason }),
      ...(expectedStart !== undefined && { expectedStart }),
    };
  }

  private endByEstimate(now: Millis): Millis | undefined {
    const { duration } = this.estimate;
    const start = this.reservation ? this.startedAt + this.pausedFor : now;
    return duration === undefined ? undefined : start + duration * 1000;
  }

  private control(): TaskControl {
    const { signal } = this.abort;
    const checkpoint = async (): Promise<void> => {
      while (this.state === 'paused' && !signal.aborted) await this.resumed.promise;
      signal.throwIfAborted();
    };
    return { signal, checkpoint };
  }
}
