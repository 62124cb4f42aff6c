import type { Assignment, Contract, Inventory } from '#contracts';
import { ResourceGovernor, TaskQueue } from '#governor';
import type { BatchSeen, Estimate } from '#governor';
import { toMillis } from '#kernel';
import type { Clock, Timers } from '#kernel';

/** How long before `confirmBy` a node that still has no room says so, that the answer may arrive in time. */
const ANSWER_TIME = 1_000;
/** The longest that a timer takes; nothing waits so long. */
const LONGEST = 2 ** 31 - 1;
/** How long the end waits for executions that were left to let go of what they hold. */
const CLOSE_LIMIT = 1_000;
const LANE = 'executions';

/** What becomes of an assignment: `begin` gets the contract held and resolves when it is not needed any more. */
interface Admitted {
  readonly begin: (contract: Contract) => Promise<void>;
  readonly decline: (reason: string) => void;
}

/**
 * Local admission: what the control plane has reserved is begun when the machine really has it free, in the order in which it
 * came. The governor may be stricter than the ledger for a while, as when a task that the control plane has given up
 * is still being ended. What fits beside nothing is declined at once; what fits with a smaller batch is begun with that,
 * and what has to wait is declined, with the reason, shortly before the control plane stops waiting for it.
 */
export class Admission {
  private readonly governor: ResourceGovernor;
  private readonly queue: TaskQueue;

  constructor(
    inventory: Inventory,
    private readonly clock: Clock,
    private readonly timers: Timers,
  ) {
    this.governor = new ResourceGovernor(inventory);
    this.queue = new TaskQueue({
      governor: this.governor,
      clock,
      lanes: [{ name: LANE, workers: Infinity }],
      remembered: 0,
    });
  }

  admit(assignment: Assignment, { begin, decline }: Admitted): void {
    const { executionId, confirmBy } = assignment;
    const estimate = estimateOf(assignment);
    const verdict = this.governor.examine(estimate);
    // The queue would say so too, but only when it is the first in line.
    if (verdict.kind === 'REJECT') return decline(verdict.reason.message);
    let begun = false;
    const answer = this.queue.submit({
      id: executionId,
      estimate,
      work: (granted) => {
        begun = true;
        deadline.cancel();
        return begin(granted);
      },
    });
    if (answer.kind === 'rejected') return decline(answer.rejection.message);
    const left = Math.max(0, Math.min(LONGEST, toMillis(confirmBy) - this.clock.now() - ANSWER_TIME));
    const deadline = this.timers.after(left, () => this.withdraw(executionId, this.waitingFor(executionId)));
    void answer.ended.then((end) => {
      deadline.cancel();
      if (!begun && end.state !== 'completed') decline(end.reason.message);
    });
  }

  /** Ends the wait of one that has not begun, which is declined for the reason given. */
  withdraw(executionId: string, reason: string): void {
    this.queue.cancel(executionId, reason);
  }

  /** Counts what already runs, whether it fits or not, until the promise resolves. */
  adopt(contract: Contract, released: Promise<void>): void {
    const reservation = this.governor.adopt(contract);
    void released.then(() => {
      this.governor.release(reservation);
      this.queue.resourcesChanged();
    });
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
    await this.queue.destroy({ after: CLOSE_LIMIT, timers: this.timers });
  }

  private waitingFor(executionId: string): string {
    const [first = executionId] = this.queue.lane(LANE)?.waiting ?? [];
    const reason = this.queue.task(first)?.reason?.message ?? 'it waits';
    return first === executionId ? reason : `behind ${first}: ${reason}`;
  }
}

/**
 * The control plane has chosen devices and the most items of a batch already; the machine has exactly this, or as much of
 * the batch as the job can do with. All of a whole device is granted, whatever the batch.
 */
const estimateOf = ({ contract, task }: Pick<Assignment, 'contract' | 'task'>): Estimate => {
  const { cpu, memory, disk, ioSlots, gpus, batchSize } = contract;
  if (batchSize === undefined) return { resources: { cpu, memory, disk, ioSlots }, devices: gpus };
  const { min, memoryPerItem, gpuMemoryPerItem } = task.batch ?? { ...WHOLE_BATCH, min: batchSize };
  const without = (bytes: number, perItem: number): number => Math.max(0, bytes - batchSize * perItem);
  return {
    resources: { cpu, memory: without(memory, memoryPerItem), disk, ioSlots },
    devices: gpus.map((gpu) => (gpu.share < 1 ? { ...gpu, memory: without(gpu.memory, gpuMemoryPerItem) } : gpu)),
    batch: { size: batchSize, min: Math.min(min, batchSize), memoryPerItem, gpuMemoryPerItem },
  };
};

/** Of a control plane that does not say how a batch is reduced. */
const WHOLE_BATCH = { memoryPerItem: 0, gpuMemoryPerItem: 0 };
