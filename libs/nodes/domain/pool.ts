/**
 * Who of those that wait for the nodes of a pool is next. `fifo`: whoever came first, and nobody passes. `priority`: whoever
 * fits is taken, the more urgent asked first. `backfill`: the more urgent first, equals as they came, and a later one may
 * start only where by the estimates it does not delay the first.
 */
export type Discipline = 'fifo' | 'priority' | 'backfill';

/** A named set of nodes with one queue discipline. A node is in one pool at most. */
export interface Pool {
  readonly name: string;
  readonly discipline: Discipline;
}
