import type { DesiredState } from '#contracts';
import type { Millis } from '#kernel';
import type { JournalEntry } from '../journal/entry.js';

/**
 * When an execution is expected to let go of its contract, seen from `now`: its job's estimate after the start of its run,
 * the time that it stood paused apart. What has not begun to run begins now; what was told to stop does so by `stopsBy`;
 * what has ended, and has its outputs to publish, is over at any moment. Undefined while it is or should be paused, and
 * when its job has no estimate.
 */
export const expectedEnd = (
  { phase, startedAt, pausedFor, pausedSince, assignment }: JournalEntry,
  desired: DesiredState,
  stopsBy: Millis | undefined,
  now: Millis,
): Millis | undefined => {
  if (phase === 'ended' || phase === 'finished') return now;
  if (stopsBy !== undefined) return stopsBy;
  const { duration } = assignment.task;
  if (desired === 'pause' || pausedSince !== undefined || duration === undefined) return undefined;
  return (startedAt === undefined ? now : startedAt + pausedFor) + duration * 1000;
};
