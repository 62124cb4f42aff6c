import type { Millis, Timers } from '#kernel';
import type { TaskLane, TaskRecord } from './record.js';
import type { Step } from './task.js';

/** How long destroying waits for callbacks that run. */
export interface JoinLimit {
  readonly after: Millis;
  readonly timers: Timers;
}

/**
 * The workers of all lanes. Each lane has up to its limit, made when there is something for them; a task that ran before
 * brings its own, so there may be more than the limit, but none starts a task while as many run.
 *
 * A worker's modes: *looking* examines the line as long as something has changed since the last look; *running* awaits one
 * task; *asleep* waits on the lane's condition, when nothing can start. `wake` ends its sleep, and nothing else does: no
 * look is made by time. After a start the next sleeper is woken, so that one change may start several tasks. `join` ends
 * the loop of each as soon as its task has ended.
 */
export class Workers {
  private closing = false;

  constructor(
    /** Starts what the lane may start now, and tells which task that was. */
    private readonly examine: (lane: TaskLane) => TaskRecord | undefined,
    /** Runs a started task to its end; never rejects. */
    private readonly run: (task: TaskRecord) => Promise<void>,
    private readonly tell: (step: Step) => void,
  ) {}

  /** Has the line examined once more: by a sleeping worker, a new one, or the next that has ended its task. */
  wake(lane: TaskLane): void {
    lane.stirred = true;
    if (lane.rousing || this.closing) return;
    if (lane.wakeOne()) this.tell({ step: 'woken', lane: lane.name });
    else if (lane.workers.length < lane.limit) lane.workers.push(Promise.resolve().then(() => this.work(lane)));
    else return;
    lane.rousing = true;
  }

  /** Makes a worker for a task that has begun already. */
  bring(lane: TaskLane, task: TaskRecord): void {
    lane.workers.push(this.work(lane, task));
  }

  /** Lets every worker go; resolves when all are gone, or the limit is over. */
  async join(lanes: Iterable<TaskLane>, limit: JoinLimit | undefined): Promise<void> {
    this.closing = true;
    const workers = [...lanes].flatMap((lane) => {
      while (lane.wakeOne()) this.tell({ step: 'woken', lane: lane.name });
      return lane.workers;
    });
    const all = Promise.allSettled(workers);
    if (!limit) {
      await all;
      return;
    }
    const late = Promise.withResolvers<undefined>();
    const timer = limit.timers.after(limit.after, () => late.resolve(undefined));
    await Promise.race([all, late.promise]);
    timer.cancel();
  }

  private async work(lane: TaskLane, begun?: TaskRecord): Promise<void> {
    if (begun) await this.run(begun);
    while (true) {
      const task = this.look(lane);
      if (task) await this.run(task);
      else if (this.isClosing()) return;
      else {
        const woken = lane.sleep();
        this.tell({ step: 'asleep', lane: lane.name });
        await woken;
      }
    }
  }

  private look(lane: TaskLane): TaskRecord | undefined {
    lane.rousing = false;
    while (lane.stirred && !this.closing && lane.running.size < lane.limit) {
      lane.stirred = false;
      const task = this.examine(lane);
      if (!task) continue;
      if (lane.first) this.wake(lane);
      return task;
    }
    return undefined;
  }

  private isClosing(): boolean {
    return this.closing;
  }
}
