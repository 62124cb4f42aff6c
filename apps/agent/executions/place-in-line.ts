import type { Discipline, TaskQueue } from '#governor';
import { toInstant } from '#kernel';
import type { Instant } from '#kernel';

/** Where an execution stands that waits for its turn. */
export interface PlaceInLine {
  readonly lane: string;
  readonly discipline: Discipline;
  /** From 1, of so many that wait. */
  readonly place: number;
  readonly of: number;
  /** The first in line, if that is another. */
  readonly behind?: string;
  /** What the first waits for, and what its own wait is for where that is known to be something else. */
  readonly reason: string;
  /** When the first is expected to begin; absent when nobody knows. */
  readonly expectedStart?: Instant;
}

/** Where it stands now; undefined for what does not wait. */
export const placeInLine = (queue: TaskQueue, executionId: string): PlaceInLine | undefined => {
  const task = queue.task(executionId);
  const line = task?.state === 'pending' ? queue.lane(task.lane) : undefined;
  const first = line?.waiting[0];
  const head = first === undefined ? undefined : queue.task(first);
  if (!task || !line || !head) return undefined;
  const { discipline, running, waiting, workers } = line;
  const isFirst = head.id === executionId;
  const busy = running >= workers ? `all that may run at once in the lane do, ${running} of ${workers}` : undefined;
  const reason = busy ?? head.reason?.message ?? 'it is looked at next';
  const own = busy || isFirst ? undefined : task.reason?.message;
  return {
    lane: task.lane,
    discipline,
    place: waiting.indexOf(executionId) + 1,
    of: waiting.length,
    ...(!isFirst && { behind: head.id }),
    reason: own === undefined ? reason : `${reason}; ${own}`,
    ...(head.expectedStart !== undefined && { expectedStart: toInstant(head.expectedStart) }),
  };
};

/** The same in words, for those to whom an execution is declined. */
export const inWords = ({ lane, discipline, place, of, behind, reason, expectedStart }: PlaceInLine): string =>
  [
    behind === undefined ? reason : `behind ${behind}: ${reason}`,
    `lane ${lane} (${discipline}), place ${place} of ${of}`,
    `expected start${behind === undefined ? '' : ` of ${behind}`} ${expectedStart ?? 'unknown'}`,
  ].join('; ');
