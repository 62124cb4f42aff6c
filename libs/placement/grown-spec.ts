import type { JobSpec } from '#jobs';

const grown = new WeakMap<JobSpec, Map<number, JobSpec>>();

/**
 * The spec with so many bytes of memory: what a partition asks for after it ran out of memory. The same object for the same
 * memory, so that all that is remembered by a spec's identity (its demand, its shape, its profile) is made once.
 */
export const withMemory = (spec: JobSpec, memory: number | undefined): JobSpec => {
  if (memory === undefined || memory === spec.resources.memory) return spec;
  const known = grown.get(spec) ?? new Map<number, JobSpec>();
  grown.set(spec, known);
  const made = known.get(memory) ?? { ...spec, resources: { ...spec.resources, memory } };
  known.set(memory, made);
  return made;
};
