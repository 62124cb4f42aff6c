import type { Evaluation } from './evaluation.js';

/** The queue of evaluations that failed too often. */
export const DEAD_LETTERS = '_dlq';

/** All that an evaluation may be counted under. */
export const EVALUATION_TYPES: readonly string[] = ['batch', 'service', 'ops', 'daemon', DEAD_LETTERS];

/** An evaluation that was handed out: to be answered, under its receipt, before its lease runs out. */
export interface Delivery {
  readonly evaluation: Evaluation;
  /** The evaluation's type, or `DEAD_LETTERS`. */
  readonly queue: string;
  /** Of this delivery alone. */
  readonly receipt: string;
  /** How often the evaluation was delivered, this time included. */
  readonly deliveries: number;
}
