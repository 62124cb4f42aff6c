import { byText } from '#kernel';
import type { Instant } from '#kernel';
import type { Hold } from '#jobs';
import type { Discipline, Pool } from '#nodes';

/* A pool, and the order of those who stand in its line. */

/** What the place of a job in a line depends on. */
export interface Turn {
  readonly jobId: string;
  readonly priority: number;
  readonly submittedAt: Instant;
}

/** The first in line, which part of it waits, and what is kept for it once it was looked at as the first. */
export interface Front extends Turn {
  readonly partition: number;
  /** Bytes that the part asks for since it ran out of memory. */
  readonly memory: number | undefined;
  readonly hold: Hold | undefined;
}

export interface ClusterPool {
  readonly name: string;
  /** That of the newest event that names the pool. */
  discipline: Discipline;
  readonly nodes: Set<string>;
  /** Empty where nobody waits for another (`priority`). */
  line: Turn[];
  readonly turns: Map<string, Turn>;
  /** Another object whenever it, the pool's discipline or what is kept for it has changed. */
  front: Front | undefined;
}

export const emptyPool = ({ name, discipline }: Pool): ClusterPool => ({
  name,
  discipline,
  nodes: new Set(),
  line: [],
  turns: new Map(),
  front: undefined,
});

/** Below 0 when the left comes first. No two jobs are equal. */
export const compareTurns = (discipline: Discipline, left: Turn, right: Turn): number =>
  (discipline === 'fifo' ? 0 : right.priority - left.priority) ||
  byText(left.submittedAt, right.submittedAt) ||
  byText(left.jobId, right.jobId);

/** How many come before it. */
export const placeOf = ({ line, discipline }: ClusterPool, turn: Turn): number => {
  let low = 0;
  let high = line.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const other = line[middle];
    if (other && compareTurns(discipline, other, turn) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
};

/** Its place in the line, from 1; undefined for one that does not stand there. */
export const placeInLine = (pool: ClusterPool, jobId: string): number | undefined => {
  const turn = pool.turns.get(jobId);
  return turn && placeOf(pool, turn) + 1;
};
