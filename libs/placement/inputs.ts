import type { InputRequest, JobSpec, PinnedInput } from '#jobs';
import type { ClusterNode } from './cluster/state.js';

/** Nodes do not tell of smaller content, so it counts nowhere. */
const COUNTED = 1024 ** 2;

/** An input of unknown size counts as this many bytes. */
const NOMINAL_SIZE = 64 * 1024 ** 2;

/** What a node has of a job's inputs: `present` of `of` that count, and about so many bytes that it would have to fetch. */
export interface InputsThere {
  readonly of: number;
  readonly present: number;
  readonly missing: number;
}

/** The digest that an input's bytes have, when the job says so. */
export const digestOf = ({ source, sha256 }: InputRequest): string | undefined =>
  sha256 ?? (source.startsWith('sha256:') ? source.slice('sha256:'.length) : undefined);

export const inputsOn = (node: ClusterNode, inputs: readonly InputRequest[]): InputsThere => {
  let [of, present, missing] = [0, 0, 0];
  for (const input of inputs) {
    const size = input.size ?? NOMINAL_SIZE;
    if (size < COUNTED) continue;
    of += 1;
    if (has(node, input)) present += 1;
    else missing += size;
  }
  return { of, present, missing };
};

const has = ({ cached, inputs }: ClusterNode, input: InputRequest): boolean => {
  const digest = digestOf(input);
  if (digest === undefined) return inputs.has(input.source);
  return (cached ?? inputs).has(digest);
};

/** The spec as it is run once the jobs that it waited for have left what it reads of them. */
export const withPinned = (spec: JobSpec, pinned: readonly PinnedInput[] = []): JobSpec => {
  if (pinned.length === 0) return spec;
  const bySource = new Map(pinned.map(({ source, sha256, size }) => [source, { sha256, size }]));
  return { ...spec, inputs: spec.inputs.map((input) => ({ ...input, ...bySource.get(input.source) })) };
};
