import type { Millis } from '#kernel';
import type { Estimate } from '../budget/index.js';

/**
 * How a lane orders its tasks. `fifo`: as they came, and nobody passes the first. `priority`: higher first, equals as they
 * came, and nobody passes the first. `backfill`: as `priority`, but while the first waits a later one may start where by
 * the estimates it does not delay it.
 */
export type Discipline = 'fifo' | 'priority' | 'backfill';

/** What a lane has to know of a task. */
interface Standing {
  /** Counts submissions. */
  readonly sequence: number;
  readonly priority: number;
  /** When it is expected to end if it starts at `now`, or has started; undefined when nobody knows. */
  readonly endsBy: (now: Millis) => Millis | undefined;
}

/** One line of pending tasks, its workers, and the condition that they sleep on. */
export class Lane<Task extends Standing> {
  readonly workers: Promise<void>[] = [];
  readonly running = new Set<Task>();
  /** Whether something has changed since the first in line was last examined. */
  stirred = false;
  /** Whether a worker was woken and has not looked yet. */
  rousing = false;
  private readonly line: Task[] = [];
  private readonly sleepers: (() => void)[] = [];

  constructor(
    readonly name: string,
    /** Workers at most; each runs one task at a time. */
    readonly limit: number,
    readonly discipline: Discipline,
  ) {}

  get first(): Task | undefined {
    return this.line[0];
  }

  get waiting(): readonly Task[] {
    return this.line;
  }

  get sleeping(): number {
    return this.sleepers.length;
  }

  add(task: Task): void {
    let low = 0;
    let high = this.line.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const other = this.line[middle];
      if (other && this.isBefore(task, other)) high = middle;
      else low = middle + 1;
    }
    this.line.splice(low, 0, task);
  }

  remove(task: Task): void {
    const at = this.line.indexOf(task);
    if (at >= 0) this.line.splice(at, 1);
  }

  sleep(): Promise<void> {
    return new Promise((resolve) => this.sleepers.push(resolve));
  }

  /** Whether somebody slept. */
  wakeOne(): boolean {
    const wake = this.sleepers.shift();
    wake?.();
    return wake !== undefined;
  }

  private isBefore(left: Task, right: Task): boolean {
    const byPriority = this.discipline === 'fifo' ? 0 : right.priority - left.priority;
    return byPriority < 0 || (byPriority === 0 && left.sequence < right.sequence);
  }
}

/** Separate pools: `gpu` for what asks for devices, `io` for what asks for I/O slots, `cpu` for the rest. */
export const laneByNeed = ({ resources, devices = [] }: Estimate): 'gpu' | 'io' | 'cpu' => {
  if ((resources.gpu?.count ?? 0) > 0 || devices.length > 0) return 'gpu';
  return resources.ioSlots > 0 ? 'io' : 'cpu';
};

/** Whether a worker will be there for the first in line at `start`, when one more task runs until `endsBy`. */
export const leavesWorker = (lane: Lane<Standing>, endsBy: Millis | undefined, start: Millis, now: Millis): boolean => {
  const ends = [endsBy, ...[...lane.running].map((task) => task.endsBy(now))];
  return ends.filter((end) => end === undefined || end > start).length < lane.limit;
};

/** When a worker of the lane is expected to be free; undefined when nobody knows. More may run than there are workers for. */
export const workerFreeAt = (lane: Lane<Standing>, now: Millis): Millis | undefined => {
  const over = lane.running.size - lane.limit;
  if (over < 0) return now;
  const ends = [...lane.running].flatMap((task) => task.endsBy(now) ?? []);
  return ends.sort((left, right) => left - right)[over];
};
