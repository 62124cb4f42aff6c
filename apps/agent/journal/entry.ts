import type { Assignment, Contract, Report } from '#contracts';
import type { Millis } from '#kernel';
import type { Ending } from '../executions/ending.js';
import { NOTHING_MEASURED } from '../metering/meter.js';
import type { Measured } from '../metering/meter.js';
import type { ProcessIdentity } from '../runner/process-identity.js';

/**
 * How far an execution got on this machine: `admitted` (confirmed or about to be; nothing runs), `starting` (a process may
 * have been made), `running` (its identity is known), `ended` (its outputs want publishing), `finished` (its last report
 * waits to be acknowledged).
 */
type Phase = 'admitted' | 'starting' | 'running' | 'ended' | 'finished';

/** All that a restarted agent needs to go on with one execution. */
export interface JournalEntry {
  readonly version: 1;
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
  readonly ending?: Ending;
  /** The last report, until it is acknowledged. */
  readonly last?: Report;
}

/** The first entry for an assignment that the node admits, with what it grants. */
export const newEntry = (assignment: Assignment, granted: Contract = assignment.contract): JournalEntry => ({
  version: 1,
  assignment: { ...assignment, contract: granted },
  ...(granted.batchSize !== assignment.contract.batchSize && { reduced: true }),
  phase: 'admitted',
  pausedFor: 0,
  measured: NOTHING_MEASURED,
});

/** Milliseconds from start to end, without those that it stood paused. */
export const ranFor = ({ startedAt, endedAt, pausedFor, pausedSince }: JournalEntry): Millis => {
  if (startedAt === undefined || endedAt === undefined) return 0;
  return Math.max(0, Math.min(endedAt, pausedSince ?? endedAt) - startedAt - pausedFor);
};
