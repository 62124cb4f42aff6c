import type { Decision, JobSpec, Weights } from '#jobs';
import { isPresentVersion, profileOf } from '#placement';
import { deriveDecision } from './verify.js';
import type { DecisionPoint } from './walk.js';

export interface OtherWeights {
  readonly weights: Weights;
  /** Only decisions that were made under this profile; else all. */
  readonly profile?: string | undefined;
}

/** What another set of weights would have made of a recorded decision. */
export type OtherOutcome =
  /** Of another profile, of another version of the algorithm, or without the job that it is about. */
  { readonly kind: 'passed-over' } | { readonly kind: 'same' } | { readonly kind: 'changed'; readonly other: Decision };

/**
 * Makes the decision again with other weights. It changes when another node wins: weights rank what the filters let
 * through, so they change neither the outcome nor the reasons.
 */
export const withOtherWeights = (point: DecisionPoint, { weights, profile }: OtherWeights): OtherOutcome => {
  const { decision } = point.recorded;
  if (profile !== undefined && decision.profile !== profile) return { kind: 'passed-over' };
  if (!point.request || point.missing.length > 0 || !isPresentVersion(decision.versions)) {
    return { kind: 'passed-over' };
  }
  if (decision.outcome !== 'placed') return { kind: 'same' };
  const other = deriveDecision(point, { ...point.request, spec: reweighted(point.request.spec, weights) });
  return other.winner === decision.winner ? { kind: 'same' } : { kind: 'changed', other };
};

/** Whether a profile packs or spreads is no weight, so the job keeps the profile that it has. */
const reweighted = (spec: JobSpec, weights: Weights): JobSpec => ({ ...spec, profile: profileOf(spec).name, weights });
