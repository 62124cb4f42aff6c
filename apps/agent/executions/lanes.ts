import type { Discipline, LaneOptions } from '#governor';

/** The lines in which executions wait for their turn, by what they need. */
export const LANES = ['cpu', 'io', 'gpu'] as const;
export type LaneName = (typeof LANES)[number];

export const DISCIPLINES: readonly Discipline[] = ['fifo', 'priority', 'backfill'];

/** What an owner may say of a lane. */
export interface LaneChoice {
  /** Default `backfill`. */
  readonly discipline?: Discipline;
  /** Executions at once at most, 1 or more; default no limit but what the machine has. */
  readonly workers?: number;
}

export type LaneChoices = Readonly<Partial<Record<LaneName, LaneChoice>>>;

/**
 * The lanes with what nobody chose filled in. All that waits here was reserved in the control plane's ledger already, where
 * it fits together; it waits for the short while in which the machine holds more than the ledger knows. So what
 * fits beside the first in line may go ahead, as long as the first does not begin later for it.
 */
export const lanesOf = (chosen: LaneChoices): LaneOptions[] =>
  LANES.map((name) => ({ name, discipline: 'backfill', workers: Infinity, ...chosen[name] }));
