import { byText } from '#kernel';
import type { Instant } from '#kernel';
import type { Contract } from '#nodes';
import type { Factor, Weights } from './job-spec.js';

/** Who is not content: the job's requirements, the node's owner, or the system (presence, drain, exclusion). */
export type ReasonSide = 'job' | 'owner' | 'system';

/**
 * One reason with the number of nodes whose *primary* (first) reason it is, so that
 * `considered = eligible + Σ filtered.nodes`; `also` counts the nodes that fail it behind another primary reason.
 */
export interface FilteredReason {
  /** Stable code, such as `capacity.memory`. */
  readonly reason: string;
  readonly side: ReasonSide;
  /** True when no event but a change of the node itself or of the job can lift it. */
  readonly never: boolean;
  readonly nodes: number;
  readonly also: number;
  /** The values compared, as text: what was asked for, and the best that any node here offers. */
  readonly asked?: string;
  readonly best?: string;
}

/** A factor's raw measure, its value normalised to 0…1, and the weight it entered with. */
export interface FactorScore {
  readonly raw: number;
  readonly value: number;
  readonly weight: number;
}

export interface RankedNode {
  readonly nodeId: string;
  /** Σ weight × value ÷ Σ weight, in 0…1. */
  readonly score: number;
  readonly factors: Readonly<Record<Factor, FactorScore>>;
  /** What it had of the inputs that count: `present` of `of`, and about so many bytes to fetch. Absent when none counts. */
  readonly inputs?: { readonly of: number; readonly present: number; readonly missing: number };
}

/** What is kept in a pool for the job that is first in its line. */
export interface Hold {
  /** Where it is expected to start first. */
  readonly nodeId: string;
  /** When, if no estimate is wrong; absent while nobody knows. */
  readonly from?: Instant;
}

/** A pool in whose line the job stands: nodes of it lack nothing but room, or its turn. */
export interface PlaceInLine {
  readonly pool: string;
  /** Only of the first in line. */
  readonly hold?: Hold;
}

export type DecisionOutcome = 'placed' | 'deferred' | 'rejected';

/**
 * The recorded outcome of one evaluation: enough to derive it again from the log. `position` (decimal text) is how far the
 * cluster state was folded; `assumed` names the reservations behind that position that were taken for granted.
 */
export interface Decision {
  /** Counts the job's recorded decisions from 1. */
  readonly number: number;
  readonly evaluationId: string;
  /** What asked for the evaluation: an event type or `sweep`. */
  readonly trigger: string;
  readonly partition: number;
  readonly position: string;
  readonly time: Instant;
  readonly assumed: readonly string[];
  readonly versions: { readonly algorithm: string; readonly weights: string };
  readonly profile: string;
  /** How the profile was found: given by the job, or derived and from what. */
  readonly profileFrom: string;
  readonly weights: Weights;
  readonly outcome: DecisionOutcome;
  readonly considered: number;
  /** Nodes without a "never" among their reasons, the eligible ones too. Absent in records from before it was kept. */
  readonly possible?: number;
  readonly eligible: number;
  readonly filtered: readonly FilteredReason[];
  /** Best first, at most the top five; earlier records have up to ten. */
  readonly ranking: readonly RankedNode[];
  /** Where it stands in line now, by the names of the pools; absent where it stands in none. */
  readonly lines?: readonly PlaceInLine[];
  /** The one node that the partition may go to, where it has one: no other was considered. */
  readonly target?: string;
  readonly winner?: string;
  readonly runnerUp?: string;
  /** Score of the winner less that of the runner-up, in 0…1. */
  readonly margin?: number;
  readonly contract?: Contract;
  /** Event types that could change the outcome. */
  readonly wakesOn: readonly string[];
  /** The earliest time at which waiting alone could change the outcome. */
  readonly wakesAt?: Instant;
}

/**
 * What makes two deferrals the same to a reader: the outcome, the reasons and the places in line, not how many nodes stand
 * behind each. A deferral is recorded when this changes, not at each look.
 */
export const deferralKey = ({ outcome, partition, filtered, lines = [] }: Decision): string => {
  const reasons = filtered.filter(({ nodes, also }) => nodes + also > 0);
  const words = reasons.map(({ reason, side, never }) => `${reason}/${side}${never ? '/never' : ''}`);
  const places = lines.map(({ pool, hold }) => `@${pool}${hold ? `=${hold.nodeId} ${hold.from ?? ''}` : ''}`);
  return [outcome, String(partition), ...words.sort(byText), ...places].join(' ');
};
