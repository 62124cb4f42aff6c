import type { Assignment, Contract, Report } from '#contracts';
import type { Millis } from '#kernel';
import { afterBatch, batchesOf } from '../batches/batches.js';
import type { Batches } from '../batches/batches.js';
import type { Ending } from '../executions/ending.js';
import { NOTHING_MEASURED } from '../metering/meter.js';
import type { Measured } from '../metering/meter.js';
import type { ProcessIdentity } from '../runner/process-identity.js';

/**
 * How far an execution got on this machine: `admitted` (confirmed or about to be; nothing runs), `starting` (a process may
 * have been made), `running` (its identity is known), `between` (a batch is over, the next is not begun), `ended` (its outputs
 * want publishing), `finished` (its last report waits to be acknowledged).
 */
type Phase = 'admitted' | 'starting' | 'running' | 'between' | 'ended' | 'finished';

/** All that a restarted agent needs to go on with one execution. */
export interface JournalEntry {
  /**
   * 2 for a task that is run for one batch after another, 3 for one in a container: what an agent that knows only less must not
   * take up.
   */
  readonly version: 1 | 2 | 3;
  /** Its contract is the one granted on this machine. */
  readonly assignment: Assignment;
  /** The one granted is smaller than the one reserved: the confirmation says so. */
  readonly reduced?: true;
  readonly phase: Phase;
  readonly process?: ProcessIdentity;
  readonly startedAt?: Millis;
  readonly endedAt?: Millis;
  /** Milliseconds that the run stood paused; they do not count towards its timeout. */
  readonly pausedFor: Millis;
  readonly pausedSince?: Millis;
  readonly measured: Measured;
  /** Of a task that is run for one batch after another. */
  readonly batches?: Batches;
  readonly ending?: Ending;
  /** The last report, until it is acknowledged. */
  readonly last?: Report;
}

/** The first entry for an assignment that the node admits, with what it grants. */
export const newEntry = (assignment: Assignment, granted: Contract = assignment.contract): JournalEntry => {
  const batches = batchesOf(assignment, granted);
  return {
    version: assignment.task.image !== undefined ? 3 : batches ? 2 : 1,
    assignment: { ...assignment, contract: granted },
    ...(granted.batchSize !== assignment.contract.batchSize && { reduced: true }),
    phase: 'admitted',
    pausedFor: 0,
    measured: NOTHING_MEASURED,
    ...(batches && { batches }),
  };
};

/**
 * The entry after a process of the task has ended: the task's end, or, between two batches, what is done so far. `peakMemory` is
 * the process's own, in bytes.
 */
export const entryAfter = (
  entry: JournalEntry,
  ended: Ending,
  of: { readonly endedAt: Millis; readonly measured: Measured; readonly peakMemory: number },
): JournalEntry => {
  const { process: _, ...rest } = entry;
  const { endedAt, measured, peakMemory } = of;
  const after = entry.batches && afterBatch(entry.batches, ended, peakMemory);
  if (after && !after.ending) return { ...rest, phase: 'between', measured, batches: after.batches };
  const ending = after?.ending ?? ended;
  return { ...entry, phase: 'ended', ending, endedAt, measured, ...(after && { batches: after.batches }) };
};

/** Milliseconds from start to end, without those that it stood paused. */
export const ranFor = ({ startedAt, endedAt, pausedFor, pausedSince }: JournalEntry): Millis => {
  if (startedAt === undefined || endedAt === undefined) return 0;
  return Math.max(0, Math.min(endedAt, pausedSince ?? endedAt) - startedAt - pausedFor);
};
