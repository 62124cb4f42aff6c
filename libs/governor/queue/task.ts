import type { Millis, Rejection } from '#kernel';
import type { Contract } from '#nodes';
import type { Estimate } from '../budget/index.js';
import type { Release } from '../governor.js';
import type { Verdict } from '../budget/index.js';

/**
 * `blocked` waits for other tasks, `pending` stands in line, `running` and `paused` hold a reservation; the other three are
 * ends.
 */
export type TaskState = 'blocked' | 'pending' | 'running' | 'paused' | 'completed' | 'failed' | 'cancelled';

/** Which end of another task allows this one to begin; `terminal` is any. */
export interface TaskDependency {
  readonly task: string;
  readonly when: 'completed' | 'failed' | 'terminal';
}

/** What a callback may ask of the queue while it runs. */
export interface TaskControl {
  /** Aborts when the task is cancelled; the callback should end then, in its own way and time. */
  readonly signal: AbortSignal;
  /** Resolves at once, or while paused when resumed; throws the reason once cancelled. Call it between pieces of work. */
  checkpoint(): Promise<void>;
}

/** Does the work within `contract`, a copy that cannot be changed. What it returns or throws is how the task ends. */
export type Work<Result> = (contract: Contract, control: TaskControl) => Result | Promise<Result>;

export interface TaskRequest<Result = unknown> {
  /** Unique among the tasks that the queue remembers. */
  readonly id: string;
  /** Copied at submission; what the caller does to it later changes nothing. */
  readonly estimate: Estimate;
  readonly work: Work<Result>;
  /** Higher first, where the lane's discipline looks at it; default 0. */
  readonly priority?: number;
  /** Name of a lane; else the first that the queue's `laneOf` gives. */
  readonly lane?: string;
  readonly dependsOn?: readonly TaskDependency[];
  /**
   * When the task is expected to end, asked with the present moment while it holds its reservation; undefined when nobody
   * knows. Default: so long after its start as its estimate says, pauses apart.
   */
  readonly endsBy?: (now: Millis) => Millis | undefined;
}

/** How a task ended. `error` is what its callback threw; a task that never ran has none. */
export type TaskEnd<Result = unknown> =
  | { readonly state: 'completed'; readonly result: Result }
  | { readonly state: 'failed'; readonly reason: Rejection; readonly error?: unknown }
  | { readonly state: 'cancelled'; readonly reason: Rejection };

/** A task as it stands at the moment of asking; all of it copies. */
export interface TaskView {
  readonly id: string;
  readonly state: TaskState;
  readonly lane: string;
  readonly priority: number;
  readonly estimate: Estimate;
  /** What was granted, once it was. */
  readonly contract?: Contract;
  /** Why it waits, as the governor last said, or why it ended as it did. */
  readonly reason?: Rejection;
  /** Tasks whose end it waits for. */
  readonly blockedBy: readonly string[];
  /** Milliseconds since 1970 at which the first in line is expected to start, by the estimates; absent when unknown. */
  readonly expectedStart?: number;
}

/** What the queue does, in order, for whoever watches it. */
export type Step =
  | { readonly step: 'created' | 'estimated' | 'reserved' | 'taken' | 'started'; readonly task: string }
  | { readonly step: 'examined'; readonly task: string; readonly verdict: Verdict['kind'] }
  | { readonly step: 'released'; readonly task: string; readonly answer: Release }
  | { readonly step: 'ended'; readonly task: string; readonly state: TaskEnd['state'] }
  | { readonly step: 'woken' | 'asleep'; readonly lane: string }
  | { readonly step: 'closing' | 'joined' | 'destroyed' };
