import type { Assignment, Contract, Inventory } from '#contracts';
import { laneByNeed, ResourceGovernor, TaskQueue } from '#governor';
import type { BatchSeen, Estimate } from '#governor';
import { toMillis } from '#kernel';
import type { Clock, Millis, Timers } from '#kernel';
import type { Logger } from 'pino';
import { lanesOf } from './lanes.js';
import type { LaneChoices } from './lanes.js';
import { inWords, placeInLine } from './place-in-line.js';

/** How long before `confirmBy` a node that still has no room says so, that the answer may arrive in time. */
const ANSWER_TIME = 1_000;
/** The longest that a timer takes; nothing waits so long. */
const LONGEST = 2 ** 31 - 1;
/** How long the end waits for executions that were left to let go of what they hold. */
const CLOSE_LIMIT = 1_000;
/** That of a job that states none, for a control plane that does not tell it. */
const USUAL_PRIORITY = 50;

/** What holds a contract on this machine. */
export interface Holder {
  /** Resolves when the contract is not needed any more. */
  readonly released: Promise<void>;
  /** When that is expected, seen from now; undefined when nobody knows. */
  readonly endsBy: (now: Millis) => Millis | undefined;
}

/** What becomes of an assignment: `begin` gets the contract that is held, and answers who holds it, if anybody does. */
interface Admitted {
  readonly begin: (contract: Contract) => Holder | undefined;
  readonly decline: (reason: string) => void;
}

interface AdmissionPorts {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Logger;
}

/**
 * Local admission: what the control plane has reserved is begun when the machine really has it free. There is a lane
 * for what needs devices, one for what needs I/O slots and one for the rest, each with a discipline that says who goes
 * next; all draw on one governor, which may be stricter than the ledger for a while, as when a task that the control
 * plane has given up is still being ended. What fits beside nothing is declined at once; what fits with a smaller batch
 * is begun with that, and what has to wait is declined, with its place in line and the reason, shortly before the control
 * plane stops waiting for it.
 */
export class Admission {
  private readonly governor: ResourceGovernor;
  private readonly queue: TaskQueue;

  constructor(
    inventory: Inventory,
    lanes: LaneChoices,
    private readonly ports: AdmissionPorts,
  ) {
    this.governor = new ResourceGovernor(inventory);
    this.queue = new TaskQueue({
      governor: this.governor,
      clock: ports.clock,
      lanes: lanesOf(lanes),
      laneOf: laneByNeed,
      remembered: 0,
    });
  }

  admit(assignment: Assignment, { begin, decline }: Admitted): void {
    const { executionId, confirmBy } = assignment;
    const { clock, timers } = this.ports;
    const request = requestOf(assignment);
    const verdict = this.governor.examine(request.estimate);
    // The queue would say so too, but only when it is the first in line.
    if (verdict.kind === 'REJECT') return decline(verdict.reason.message);
    let holder: Holder | undefined;
    let begun = false;
    const answer = this.queue.submit({
      ...request,
      endsBy: (now) => holder?.endsBy(now),
      work: async (granted) => {
        begun = true;
        deadline.cancel();
        looked.cancel();
        holder = begin(granted);
        await holder?.released;
      },
    });
    if (answer.kind === 'rejected') return decline(answer.rejection.message);
    const looked = timers.after(0, () => this.tellWait(executionId));
    const left = Math.max(0, Math.min(LONGEST, toMillis(confirmBy) - clock.now() - ANSWER_TIME));
    const deadline = timers.after(left, () => this.withdraw(executionId, this.waitingFor(executionId)));
    void answer.ended.then((end) => {
      deadline.cancel();
      looked.cancel();
      if (!begun && end.state !== 'completed') decline(end.reason.message);
    });
  }

  /** Ends the wait of one that has not begun, which is declined for the reason given. */
  withdraw(executionId: string, reason: string): void {
    this.queue.cancel(executionId, reason);
  }

  /** Counts what already runs, whether it fits or not, in its lane and for as long as it is held. */
  adopt(assignment: Assignment, holder: Holder): void {
    const { executionId, contract } = assignment;
    const work = (): Promise<void> => holder.released;
    const answer = this.queue.adopt({ ...requestOf(assignment), endsBy: (now) => holder.endsBy(now), work }, contract);
    if (answer.kind === 'submitted') return;
    // It runs whatever is thought of it: what it holds is not there for others.
    this.ports.log.error({ executionId, reason: answer.rejection.message }, 'what runs already stands in no lane');
    const reservation = this.governor.adopt(contract);
    void holder.released.then(() => {
      this.governor.release(reservation);
      this.queue.resourcesChanged();
    });
  }

  /** What runs is expected to end at another time than before: perhaps something may go ahead now. */
  outlookChanged(): void {
    this.queue.resourcesChanged();
  }

  /** How many items the next batch of what holds the assignment's contract may have. */
  nextBatch(assignment: Assignment, seen: BatchSeen): number {
    return this.governor.nextBatch(assignment.contract, estimateOf(assignment), seen);
  }

  resize(inventory: Inventory): void {
    this.governor.setCapacity(inventory);
    this.queue.resourcesChanged();
  }

  /** Admits nothing more. */
  async close(): Promise<void> {
    await this.queue.destroy({ after: CLOSE_LIMIT, timers: this.ports.timers });
  }

  private waitingFor(executionId: string): string {
    const place = placeInLine(this.queue, executionId);
    return place ? inWords(place) : 'it waits';
  }

  private tellWait(executionId: string): void {
    const place = placeInLine(this.queue, executionId);
    if (place) this.ports.log.info({ executionId, ...place }, 'an execution waits for room');
  }
}

const requestOf = (assignment: Assignment): { id: string; estimate: Estimate; priority: number } => ({
  id: assignment.executionId,
  estimate: estimateOf(assignment),
  priority: assignment.priority ?? USUAL_PRIORITY,
});

/**
 * The control plane has chosen devices and the most items of a batch already; the machine has exactly this, or as much of
 * the batch as the job can do with. All of a whole device is granted, whatever the batch.
 */
const estimateOf = ({ contract, task }: Pick<Assignment, 'contract' | 'task'>): Estimate => {
  const { cpu, memory, disk, ioSlots, gpus, batchSize } = contract;
  const duration = task.duration === undefined ? {} : { duration: task.duration };
  if (batchSize === undefined) return { resources: { cpu, memory, disk, ioSlots }, devices: gpus, ...duration };
  const { min, memoryPerItem, gpuMemoryPerItem } = task.batch ?? { ...WHOLE_BATCH, min: batchSize };
  const without = (bytes: number, perItem: number): number => Math.max(0, bytes - batchSize * perItem);
  return {
    resources: { cpu, memory: without(memory, memoryPerItem), disk, ioSlots },
    devices: gpus.map((gpu) => (gpu.share < 1 ? { ...gpu, memory: without(gpu.memory, gpuMemoryPerItem) } : gpu)),
    batch: { size: batchSize, min: Math.min(min, batchSize), memoryPerItem, gpuMemoryPerItem },
    ...duration,
  };
};

/** Of a control plane that does not say how a batch is reduced. */
const WHOLE_BATCH = { memoryPerItem: 0, gpuMemoryPerItem: 0 };
