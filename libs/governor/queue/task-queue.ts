import type { Clock, Rejected, Rejection } from '#kernel';
import type { Contract } from '#nodes';
import type { Estimate } from '../budget/index.js';
import { Admission } from './admission.js';
import type { Governor } from './admission.js';
import { Lane } from './lane.js';
import type { Discipline } from './lane.js';
import { TaskRecord } from './record.js';
import type { TaskLane } from './record.js';
import { isMet, submissionMistakes } from './submission.js';
import type { Step, TaskEnd, TaskRequest, TaskView } from './task.js';
import { Workers } from './workers.js';
import type { JoinLimit } from './workers.js';

const ONE_LANE = 'tasks';
const DESTROYED: Rejection = { code: 'queue.destroyed', message: 'the queue was destroyed' };

export interface LaneOptions {
  readonly name: string;
  /** Tasks at once, at most; default 1. */
  readonly workers?: number;
  /** Default `fifo`. */
  readonly discipline?: Discipline;
}

/** A lane as it stands at the moment of asking. */
export interface LaneView {
  readonly discipline: Discipline;
  /** Tasks at once, at most. */
  readonly workers: number;
  /** Tasks that hold a reservation; more than `workers` where more were taken in. */
  readonly running: number;
  /** The ids that stand in line, first first. */
  readonly waiting: readonly string[];
  /** Workers that sleep. */
  readonly asleep: number;
}

export interface QueueOptions {
  readonly governor: Governor;
  readonly clock: Clock;
  /** Lines with workers of their own; default one with a single worker, strictly first in, first out. */
  readonly lanes?: readonly LaneOptions[];
  /** The lane of a task that names none; default the first. */
  readonly laneOf?: (estimate: Estimate) => string;
  /** Sees each step at the moment it is done. It only looks: it must not call the queue. */
  readonly observe?: (step: Step) => void;
  /** Ended tasks that can still be asked for and depended on; default 10 000. */
  readonly remembered?: number;
}

export interface Submitted<Result> {
  readonly kind: 'submitted';
  /** Resolves when the task has ended and its reservation is released; never rejects. */
  readonly ended: Promise<TaskEnd<Result>>;
}

/** Tasks whose callback had not ended when destroying stopped waiting for it. */
export interface Destroyed {
  readonly abandoned: readonly string[];
}

/**
 * Runs tasks in order, each within a contract that the governor granted. The queue orders and calls; it computes no
 * budget. A task's way is: created with a frozen estimate, examined by the governor, reserved, taken from the line,
 * started by a worker, and released once, whatever its end.
 */
export class TaskQueue {
  private readonly tasks = new Map<string, TaskRecord>();
  private readonly over: string[] = [];
  private readonly lanes: ReadonlyMap<string, TaskLane>;
  private readonly defaultLane: (estimate: Estimate) => string;
  private readonly admission: Admission;
  private readonly workers: Workers;
  private sequence = 0;
  private closing = false;
  private destroyed: Promise<Destroyed> | undefined;

  constructor(private readonly options: QueueOptions) {
    const { governor, clock, lanes = [{ name: ONE_LANE }] } = options;
    this.lanes = new Map(
      lanes.map(({ name, workers = 1, discipline = 'fifo' }) => [name, new Lane(name, workers, discipline)]),
    );
    const first = lanes[0]?.name ?? ONE_LANE;
    this.defaultLane = options.laneOf ?? (() => first);
    const tell = (step: Step): void => this.tell(step);
    this.admission = new Admission(governor, clock, (task, end) => this.finish(task, end), tell);
    this.workers = new Workers(
      (lane) => this.admission.examine(lane),
      (task) => this.run(task),
      tell,
    );
  }

  /** Refused with every mistake named; else the task stands in line, or waits for those it depends on. */
  submit<Result>(request: TaskRequest<Result>): Submitted<Result> | Rejected {
    const answer = this.submitAll([request]);
    if (answer.kind === 'rejected') return answer;
    return { kind: 'submitted', ended: answer.ended[0] as Promise<TaskEnd<Result>> };
  }

  /** As `submit`, for several that may depend on one another in any order; either all are taken or none. */
  submitAll(
    requests: readonly TaskRequest[],
  ): { readonly kind: 'submitted'; readonly ended: readonly Promise<TaskEnd>[] } | Rejected {
    const tasks = this.createAll(requests);
    if (!Array.isArray(tasks)) return tasks;
    for (const task of tasks) this.linkDependencies(task);
    for (const task of tasks.filter(({ state }) => state === 'pending')) this.enqueue(task);
    for (const task of tasks) this.settleWithThoseOver(task);
    return { kind: 'submitted', ended: tasks.map(({ ended }) => ended.promise) };
  }

  /**
   * Takes in what runs already and holds `contract`, whether it fits or not, and whether its lane has a worker left or not:
   * until its `work`, called at once, has ended it counts as if it had been started here. Refused as by `submit`.
   */
  adopt<Result>(request: Omit<TaskRequest<Result>, 'dependsOn'>, contract: Contract): Submitted<Result> | Rejected {
    const tasks = this.createAll([{ ...request, dependsOn: [] }]);
    if (!Array.isArray(tasks)) return tasks;
    for (const task of tasks) {
      this.admission.adopt(task, contract);
      this.workers.bring(task.lane, task);
    }
    return { kind: 'submitted', ended: tasks[0]?.ended.promise as Promise<TaskEnd<Result>> };
  }

  /** A task that stands in line never runs; one that runs is asked to end by its signal, and holds until it does. */
  cancel(id: string, reason: string): Rejection | undefined {
    const task = this.tasks.get(id);
    if (!task) return unknown(id);
    if (task.isOver) return { code: 'TASK_OVER', message: `${id} is ${task.state} already` };
    this.cancelTask(task, { code: 'task.cancelled', message: reason });
    return undefined;
  }

  /** Lets a running task stand still at its next checkpoint. It keeps its reservation. */
  pause(id: string): Rejection | undefined {
    const task = this.tasks.get(id);
    if (!task) return unknown(id);
    if (task.state !== 'running' || task.cancelled) return notIn(task, 'running');
    task.pause(this.options.clock.now());
    return undefined;
  }

  resume(id: string): Rejection | undefined {
    const task = this.tasks.get(id);
    if (!task) return unknown(id);
    if (task.state !== 'paused' || task.cancelled) return notIn(task, 'paused');
    task.resume(this.options.clock.now());
    // Now that its end is foreseen again, something may pass the first in line.
    this.resourcesChanged();
    return undefined;
  }

  /**
   * To be called by whoever changed what is free, or when it will be, otherwise than through this queue. Wakes those who wait
   * for it.
   */
  resourcesChanged(): void {
    const waiting = [...this.lanes.values()].filter(({ first }) => first !== undefined);
    // What is free is offered first to the lane whose first task is the oldest.
    for (const lane of waiting.sort((left, right) => ageOf(left) - ageOf(right))) this.workers.wake(lane);
  }

  task(id: string): TaskView | undefined {
    const task = this.tasks.get(id);
    return task?.view(task.lane.first === task ? this.admission.expectedStart(task) : undefined);
  }

  lane(name: string): LaneView | undefined {
    const lane = this.lanes.get(name);
    if (!lane) return undefined;
    const { discipline, limit, running, waiting, sleeping } = lane;
    return {
      discipline,
      workers: limit,
      running: running.size,
      waiting: waiting.map(({ id }) => id),
      asleep: sleeping,
    };
  }

  /**
   * Cancels every task, joins the workers, releases what is still held, and forgets the tasks, in this order. Without
   * `limit` it waits for running callbacks as long as they take; with it, those that have not ended by then are abandoned.
   */
  destroy(limit?: JoinLimit): Promise<Destroyed> {
    this.destroyed ??= this.end(limit);
    return this.destroyed;
  }

  private createAll(requests: readonly TaskRequest[]): TaskRecord[] | Rejected {
    if (this.closing) return refusal([{ code: 'QUEUE_CLOSED', message: 'the queue is being destroyed' }]);
    const placed = requests.map((request) => ({
      ...request,
      lane: request.lane ?? this.defaultLane(request.estimate),
    }));
    const mistakes = submissionMistakes(placed, {
      stateOf: (id) => this.tasks.get(id)?.state,
      hasLane: (name) => this.lanes.has(name),
    });
    return mistakes.length > 0 ? refusal(mistakes) : placed.flatMap((request) => this.create(request));
  }

  private create(request: TaskRequest & { readonly lane: string }): TaskRecord[] {
    const lane = this.lanes.get(request.lane);
    if (!lane) return [];
    const task = new TaskRecord(request, lane, this.sequence++);
    this.tasks.set(task.id, task);
    this.tell({ step: 'created', task: task.id });
    this.tell({ step: 'estimated', task: task.id });
    return [task];
  }

  private linkDependencies(task: TaskRecord): void {
    if (task.unmet.length > 0) task.state = 'blocked';
    for (const id of new Set(task.unmet.map(({ task: needed }) => needed))) this.tasks.get(id)?.dependents.push(task);
  }

  /** What is over already will not end once more. */
  private settleWithThoseOver(task: TaskRecord): void {
    for (const id of new Set(task.unmet.map(({ task: needed }) => needed))) {
      const needed = this.tasks.get(id);
      if (needed?.isOver) this.finishAll(this.settle(task, needed));
    }
  }

  private enqueue(task: TaskRecord): void {
    const { lane } = task;
    task.state = 'pending';
    lane.add(task);
    if (lane.first === task || lane.discipline === 'backfill') this.workers.wake(lane);
  }

  private async run(task: TaskRecord): Promise<void> {
    this.tell({ step: 'started', task: task.id });
    const end = await this.call(task);
    // Only an abandoned task is over before its callback.
    if (!task.isOver) this.finish(task, task.cancelled ? { state: 'cancelled', reason: task.cancelled } : end);
  }

  private async call(task: TaskRecord): Promise<TaskEnd> {
    try {
      return { state: 'completed', result: await task.perform() };
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      return { state: 'failed', reason: { code: 'task.threw', message }, error };
    }
  }

  private cancelTask(task: TaskRecord, reason: Rejection): void {
    if (task.reservation) {
      if (!task.cancelled) task.cancel(reason);
    } else this.finish(task, { state: 'cancelled', reason });
  }

  private finish(task: TaskRecord, end: TaskEnd): void {
    this.finishAll([[task, end]]);
  }

  /** Ends tasks, and those that can never begin because of how they ended. */
  private finishAll(ends: [TaskRecord, TaskEnd][]): void {
    for (const [task, end] of ends) {
      if (task.isOver) continue;
      this.close(task, end);
      for (const dependent of task.dependents) ends.push(...this.settle(dependent, task));
    }
  }

  private close(task: TaskRecord, end: TaskEnd): void {
    const { lane } = task;
    const wasFirst = lane.first === task;
    task.state = end.state;
    if (end.state !== 'completed') task.reason = end.reason;
    lane.remove(task);
    lane.running.delete(task);
    const released = this.admission.release(task);
    this.tell({ step: 'ended', task: task.id, state: end.state });
    task.ended.resolve(end);
    this.remember(task);
    if (released) this.resourcesChanged();
    else if (wasFirst && lane.waiting.length > 0) this.workers.wake(lane);
  }

  /** What the end of `needed` means to a task that waits for it: one wait less, its turn in line, or its own end. */
  private settle(task: TaskRecord, needed: TaskRecord): [TaskRecord, TaskEnd][] {
    if (task.state !== 'blocked') return [];
    if (this.closing) return [[task, { state: 'cancelled', reason: DESTROYED }]];
    const mine = task.unmet.filter((dependency) => dependency.task === needed.id);
    const missed = mine.find((dependency) => !isMet(dependency, needed.state));
    if (missed) {
      const message = `${needed.id} is ${needed.state}, and this task waits for it to be ${missed.when}`;
      return [[task, { state: 'failed', reason: { code: 'dependency.never-met', message } }]];
    }
    task.unmet = task.unmet.filter((dependency) => dependency.task !== needed.id);
    if (task.unmet.length === 0) this.enqueue(task);
    return [];
  }

  private remember({ id }: TaskRecord): void {
    this.over.push(id);
    if (this.over.length <= (this.options.remembered ?? 10_000)) return;
    const oldest = this.over.shift();
    if (oldest !== undefined) this.tasks.delete(oldest);
  }

  private async end(limit: JoinLimit | undefined): Promise<Destroyed> {
    this.closing = true;
    this.tell({ step: 'closing' });
    for (const task of [...this.tasks.values()]) if (!task.isOver) this.cancelTask(task, DESTROYED);
    await this.workers.join(this.lanes.values(), limit);
    this.tell({ step: 'joined' });
    const abandoned = this.admission.holding();
    for (const task of abandoned) this.finish(task, { state: 'cancelled', reason: DESTROYED });
    this.tasks.clear();
    this.tell({ step: 'destroyed' });
    return { abandoned: abandoned.map(({ id }) => id) };
  }

  /** A watcher that throws is a fault of its own: it is raised where nothing of the queue is cut short by it. */
  private tell(step: Step): void {
    try {
      this.options.observe?.(step);
    } catch (error) {
      queueMicrotask(() => {
        throw error;
      });
    }
  }
}

const refusal = (mistakes: readonly Rejection[]): Rejected => ({
  kind: 'rejected',
  rejection: {
    code: mistakes[0]?.code ?? 'TASK_INVALID',
    message: mistakes.map(({ message }) => message).join('; '),
    details: { mistakes },
  },
});

const unknown = (id: string): Rejection => ({ code: 'TASK_UNKNOWN', message: `there is no task ${id}` });

const notIn = ({ id, state, cancelled }: TaskRecord, wanted: string): Rejection => ({
  code: `TASK_NOT_${wanted.toUpperCase()}`,
  message: `${id} is ${cancelled ? 'being cancelled' : state}, not ${wanted}`,
});

const ageOf = ({ first }: TaskLane): number => first?.sequence ?? Infinity;
