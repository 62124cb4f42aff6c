import type { Clock, Millis } from '#kernel';
import type { Contract } from '#nodes';
import type { Granted, Outlook, Reservation, Reserved, ResourceGovernor } from '../governor.js';
import { leavesWorker, workerFreeAt } from './lane.js';
import type { TaskLane, TaskRecord } from './record.js';
import type { Step, TaskEnd } from './task.js';

/** How many that wait behind the first in line are looked at for backfilling in one go. */
const BACKFILL_DEPTH = 100;

/** What the queue needs of a governor. */
export type Governor = Pick<
  ResourceGovernor,
  'reserve' | 'reserveBehind' | 'forecast' | 'adopt' | 'release' | 'isActive'
>;

/**
 * Takes tasks from their line when the governor grants them a reservation, and gives it back. It asks in the lane's order and
 * does what it is answered; whether and how much is the governor's alone.
 */
export class Admission {
  private readonly holders = new Map<Reservation, TaskRecord>();

  constructor(
    private readonly governor: Governor,
    private readonly clock: Clock,
    private readonly finish: (task: TaskRecord, end: TaskEnd) => void,
    private readonly tell: (step: Step) => void,
  ) {}

  /** Starts the first in line, or one that may pass it; those that can never run are failed on the way. */
  examine(lane: TaskLane): TaskRecord | undefined {
    for (let head = lane.first; head; head = lane.first) {
      const started = this.heed(head, this.governor.reserve(head.estimate));
      if (started) return started;
      if (lane.first === head) return lane.discipline === 'backfill' ? this.backfill(lane, head) : undefined;
    }
    return undefined;
  }

  /** Counts what a task holds that runs already. It never stood in line. */
  adopt(task: TaskRecord, contract: Contract): void {
    this.hold(task, this.governor.adopt(contract), contract);
  }

  /** Gives back what a task holds; whether it held anything. */
  release(task: TaskRecord): boolean {
    const { reservation } = task;
    if (!reservation) return false;
    task.reservation = undefined;
    this.holders.delete(reservation);
    this.tell({ step: 'released', task: task.id, answer: this.governor.release(reservation) });
    return true;
  }

  holding(): TaskRecord[] {
    return [...this.holders.values()];
  }

  /** When the first in line is expected to have both its resources and a worker, by the estimates of what runs. */
  expectedStart(head: TaskRecord): Millis | undefined {
    const outlook = this.outlook();
    const room = this.governor.forecast(head.estimate, outlook)?.at;
    const worker = workerFreeAt(head.lane, outlook.now);
    return room === undefined || worker === undefined ? undefined : Math.max(room, worker);
  }

  private heed(task: TaskRecord, answer: Reserved): TaskRecord | undefined {
    this.tell({ step: 'examined', task: task.id, verdict: answer.kind });
    switch (answer.kind) {
      case 'GRANT':
      case 'REDUCE_BATCH':
        return this.take(task, answer);
      case 'WAIT':
        task.reason = answer.reason;
        return undefined;
      case 'REJECT':
        this.finish(task, { state: 'failed', reason: answer.reason });
        return undefined;
    }
  }

  private take(task: TaskRecord, { reservation, contract }: Granted): TaskRecord | undefined {
    if (!this.governor.isActive(reservation)) {
      const message = 'the governor granted what it does not hold';
      this.finish(task, { state: 'failed', reason: { code: 'governor.no-active-reservation', message } });
      return undefined;
    }
    task.lane.remove(task);
    this.hold(task, reservation, contract);
    return task;
  }

  private hold(task: TaskRecord, reservation: Reservation, contract: Contract): void {
    this.tell({ step: 'reserved', task: task.id });
    task.lane.running.add(task);
    this.holders.set(reservation, task);
    task.start(reservation, contract, this.clock.now());
    this.tell({ step: 'taken', task: task.id });
  }

  private backfill(lane: TaskLane, head: TaskRecord): TaskRecord | undefined {
    const outlook = this.outlook();
    const start = this.governor.forecast(head.estimate, outlook);
    if (!start) return undefined;
    for (const task of lane.waiting.slice(1, 1 + BACKFILL_DEPTH)) {
      // One that was failed on the way may have let another one in, ahead of all.
      if (lane.first !== head) return undefined;
      const endsBy = task.endsBy(outlook.now);
      if (!leavesWorker(lane, endsBy, start.at, outlook.now)) continue;
      const started = this.heed(task, this.governor.reserveBehind(head.estimate, task.estimate, endsBy, outlook));
      if (started) return started;
    }
    return undefined;
  }

  private outlook(): Outlook {
    const now = this.clock.now();
    return { now, endOf: (reservation) => this.holders.get(reservation)?.endsBy(now) };
  }
}
