import { FREE, HELD, LACKING } from '#governor/budget';
import type { Millis } from '#kernel';
import type { ClusterNode } from '../cluster/state.js';
import type { ReasonCode } from './reasons.js';

/** Passes; fails for now; fails until the node itself or the job changes: the governor's three, for any question. */
export const PASS = FREE;
export const NOT_NOW = HELD;
export const NEVER = LACKING;
export type Verdict = typeof PASS | typeof NOT_NOW | typeof NEVER;

/** What a node has in place of what was asked: a number in the reason's unit, or text. */
export type Offer = number | string | undefined;

/**
 * One question put to every node. Checks are made once for a request, and only those that the request gives cause for;
 * `test` neither allocates nor parses.
 */
export interface Check {
  readonly code: ReasonCode;
  /** What was asked, as text. */
  readonly asked: string | undefined;
  readonly test: (node: ClusterNode, at: Millis) => Verdict;
  /** Asked only of a node that failed. */
  readonly offer: (node: ClusterNode, at: Millis) => Offer;
  /** When time alone lifts it. Asked only of a node that failed. */
  readonly until: (node: ClusterNode, at: Millis) => Millis | undefined;
  /**
   * Until when verdict, offer and `until` stay the same while the node does; undefined for a node of which time changes
   * nothing. Absent on checks that do not know the time.
   */
  readonly lasts?: (node: ClusterNode, at: Millis) => Millis | undefined;
}

const nothing = (): undefined => undefined;

export const check = (
  code: ReasonCode,
  asked: string | undefined,
  test: Check['test'],
  offer: Check['offer'] = nothing,
): Check => ({ code, asked, test, offer, until: nothing });

/** One whose answer time alone can change. */
export const timedCheck = (
  code: ReasonCode,
  asked: string | undefined,
  parts: Pick<Check, 'test' | 'until' | 'lasts'> & Partial<Pick<Check, 'offer'>>,
): Check => ({ code, asked, offer: nothing, ...parts });

/** Fails for ever unless `holds`. */
export const must = (holds: boolean): Verdict => (holds ? PASS : NEVER);

/** Fails for now unless `holds`. */
export const mustNow = (holds: boolean): Verdict => (holds ? PASS : NOT_NOW);

/** An amount against what there is in all and what is free. */
export const fits = (asked: number, total: number, free: number): Verdict =>
  asked > total ? NEVER : asked > free ? NOT_NOW : PASS;

/** One question put to the request alone; failing it is never for ever. */
export interface RequestCheck {
  readonly code: ReasonCode;
  readonly asked: string | undefined;
  readonly holds: boolean;
  readonly offer: Offer;
}
