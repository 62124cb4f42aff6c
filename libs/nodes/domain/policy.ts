import type { Instant } from '#kernel';

/** Lists of names. An absent list allows (or denies) nothing in particular; an empty allow list allows none. */
export interface AccessList {
  readonly institutions?: readonly string[];
  readonly projects?: readonly string[];
  readonly accounts?: readonly string[];
  readonly applications?: readonly string[];
}

export type Weekday = 'mon' | 'tue' | 'wed' | 'thu' | 'fri' | 'sat' | 'sun';

/**
 * A weekly span in which the owner lends the node. `from` and `to` are `HH:MM` in `timeZone`; a window whose `to` is not
 * after its `from` crosses midnight and belongs to the day it starts on.
 */
export interface TimeWindow {
  readonly days: readonly Weekday[];
  readonly from: string;
  readonly to: string;
  readonly timeZone: string;
}

/** Prices per hour of one core, one GPU and one GiB of memory, in the unit of the jobs' budgets. */
export interface Price {
  readonly cpuHour?: number;
  readonly gpuHour?: number;
  readonly memoryGiBHour?: number;
}

/** A time, `from` up to but not with `until`, in which the owner needs the node for himself. */
export interface Maintenance {
  readonly from: Instant;
  readonly until: Instant;
  readonly reason: string;
}

/**
 * What the owner of a node accepts. Deny wins over allow. `maxDuration` in seconds bounds the job's estimate;
 * `maxShare` gives, by project, the largest fraction (0…1) of the node's cores that may be reserved at once.
 */
export interface Policy {
  readonly allow?: AccessList;
  readonly deny?: AccessList;
  readonly windows?: readonly TimeWindow[];
  readonly maxDuration?: number;
  readonly maxShare?: Readonly<Record<string, number>>;
  readonly price?: Price;
  readonly maintenance?: readonly Maintenance[];
}
