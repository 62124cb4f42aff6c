import { toMillis } from '#kernel';
import type { Decision, Target } from '#jobs';
import { RANKING_KEPT, decide, isPresentAlgorithm, isPresentVersion, targetChange } from '#placement';
import type { ClusterJob, PlacementRequest } from '#placement';
import { isOfDecision } from './walk.js';
import type { DecisionPoint, DerivationPoint, TargetsPoint } from './walk.js';

/** A place of a decision (JSON pointer) at which the record and the derivation are not the same; absent on one side: null. */
export interface Difference {
  readonly path: string;
  readonly recorded: unknown;
  readonly derived: unknown;
}

export type Verdict =
  | { readonly kind: 'verified' }
  /** Made by another version of algorithm or weights, which this program cannot repeat. */
  | { readonly kind: 'other-version'; readonly version: string }
  | { readonly kind: 'differs'; readonly differences: readonly Difference[] };

/** Makes again what was recorded from what it was made from, and compares the two, every value of them. */
export const verifyPoint = (point: DerivationPoint): Verdict =>
  isOfDecision(point) ? verifyDecision(point) : verifyTargets(point);

/** The nodes that the job was to get and to lose are those that matching gives again. */
const verifyTargets = ({ recorded, cluster, job }: TargetsPoint): Verdict => {
  const { algorithm, added, removed, at } = recorded.targets;
  if (!isPresentAlgorithm(algorithm)) return { kind: 'other-version', version: algorithm };
  if (!job) return broken('', 'a change of nodes', `there was no job ${recorded.jobId} at its position`);
  const change = targetChange(job, cluster, toMillis(at));
  const derived = { added: numbered(job, change.added), removed: indexesOf(job, change.removed) };
  return verdictOf(differencesOf({ added, removed }, derived));
};

/** A node that had a part before gets it again, and the others get the next numbers. */
const numbered = ({ partitions }: ClusterJob, nodeIds: readonly string[]): Target[] => {
  let next = partitions.length;
  return nodeIds.map((nodeId) => {
    const known = partitions.findIndex(({ target }) => target === nodeId);
    return { partition: known < 0 ? next++ : known, nodeId };
  });
};

const indexesOf = ({ partitions }: ClusterJob, nodeIds: readonly string[]): number[] =>
  partitions.flatMap(({ target = '' }, index) => (nodeIds.includes(target) ? [index] : []));

const verifyDecision = (point: DecisionPoint): Verdict => {
  const { decision } = point.recorded;
  const { algorithm, weights } = decision.versions;
  if (!isPresentVersion(decision.versions)) return { kind: 'other-version', version: `${algorithm} ${weights}` };
  const [missing] = point.missing;
  if (missing !== undefined) return broken('/assumed', missing, 'no node ever held it');
  if (!point.request) return broken('', 'a decision', `there was no job ${point.recorded.jobId} at its position`);
  // Earlier records kept more of the ranking than is kept now; what was decided is the same.
  const recorded = { ...decision, ranking: decision.ranking.slice(0, RANKING_KEPT) };
  return verdictOf(differencesOf(recorded, deriveDecision(point, point.request)));
};

const verdictOf = (differences: readonly Difference[]): Verdict =>
  differences.length === 0 ? { kind: 'verified' } : { kind: 'differs', differences };

const broken = (path: string, recorded: unknown, derived: unknown): Verdict => ({
  kind: 'differs',
  differences: [{ path, recorded, derived }],
});

/** The decision that the request would have come to at this point. */
export const deriveDecision = ({ recorded, cluster }: DecisionPoint, request: PlacementRequest): Decision => {
  const { number, evaluationId, trigger, partition, time } = recorded.decision;
  return decide(request, cluster, { number, evaluationId, trigger, partition, time }).decision;
};

/** By value, as JSON has them: the order of members means nothing. */
export const differencesOf = <Made extends object>(recorded: Made, derived: Made): Difference[] => [
  ...differing('', recorded, JSON.parse(JSON.stringify(derived))),
];

function* differing(path: string, recorded: unknown, derived: unknown): Generator<Difference> {
  if (Object.is(recorded, derived)) return;
  if (!isObject(recorded) || !isObject(derived) || Array.isArray(recorded) !== Array.isArray(derived)) {
    yield { path, recorded: recorded ?? null, derived: derived ?? null };
    return;
  }
  for (const key of new Set([...Object.keys(recorded), ...Object.keys(derived)])) {
    const step = key.replaceAll('~', '~0').replaceAll('/', '~1');
    yield* differing(`${path}/${step}`, recorded[key], derived[key]);
  }
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;
