import type { Artifact } from './events.js';
import type { InputRequest, JobSpec, PinnedInput } from './job-spec.js';
import type { Ending, JobState } from './state.js';

/* What jobs leave behind for others, which name it as an input: `job:ID/path`. */

/** A file that another job leaves behind. */
export interface ResultName {
  readonly job: string;
  readonly path: string;
}

/** Undefined for an input from elsewhere. */
export const resultNamed = (source: string): ResultName | undefined => {
  const [, job, path] = /^job:([^/]+)\/(.+)$/s.exec(source) ?? [];
  return job === undefined || path === undefined ? undefined : { job, path };
};

/** What a job left under a path. A try that succeeded goes before one that failed and left something too. */
export const resultAt = (job: JobState, path: string): Artifact | undefined => {
  const named = Object.values(job.executions).flatMap(({ state, artifacts }) =>
    artifacts.filter((artifact) => artifact.path === path).map((artifact) => ({ state, artifact })),
  );
  return (named.find(({ state }) => state === 'succeeded') ?? named[0])?.artifact;
};

/** The ended jobs, of those that a job waited for, whose results are among its inputs and not pinned yet. */
export const parentsRead = ({ inputs, dependsOn }: JobSpec): readonly string[] => {
  const read = new Set(inputs.filter(isOpen).map(({ source }) => resultNamed(source)?.job));
  return dependsOn.map(({ job }) => job).filter((job) => read.has(job));
};

const isOpen = ({ sha256, size }: InputRequest): boolean => sha256 === undefined || size === undefined;

export type Pinned =
  | { readonly kind: 'pinned'; readonly inputs: readonly PinnedInput[] }
  | { readonly kind: 'missing'; readonly ending: Ending };

/**
 * The digests of what a job will read of its parents, which have ended, so that nothing of it can change any more; or how it
 * ends when something is not there, and so never will be.
 */
export const pinnedInputs = ({ inputs }: JobSpec, parents: ReadonlyMap<string, JobState>): Pinned => {
  const pinned = new Map<string, PinnedInput>();
  const mistakes: string[] = [];
  for (const [index, input] of inputs.entries()) {
    const name = resultNamed(input.source);
    const parent = name && isOpen(input) ? parents.get(name.job) : undefined;
    if (!name || !parent) continue;
    const result = resultAt(parent, name.path);
    if (result && (input.sha256 ?? result.sha256) === result.sha256) {
      pinned.set(input.source, { source: input.source, sha256: result.sha256, size: result.size });
    } else mistakes.push(`/inputs/${index}: ${notLeft(name, parent, input, result)}`);
  }
  if (mistakes.length === 0) return { kind: 'pinned', inputs: [...pinned.values()] };
  return { kind: 'missing', ending: { class: 'input', code: 'input-missing', message: mistakes.join('; ') } };
};

const notLeft = (
  { job, path }: ResultName,
  { ended }: JobState,
  { sha256 }: InputRequest,
  result: Artifact | undefined,
): string =>
  result
    ? `job ${job} left ${path} with sha256 ${result.sha256}, not ${sha256 ?? ''}`
    : `job ${job} is ${ended ?? 'not over'} and left no ${path}`;
