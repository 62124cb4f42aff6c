import type { ProblemItem } from '#contracts';
import { DEFAULT_LIMITS, validateInput } from '#platform/validation';
import type { JobSpec } from '../domain/job-spec.js';
import { JobSpecDto } from './dto/job-spec.dto.js';
import { DEFAULT_MEMORY, toJobSpec, warningsOf } from './normalise.js';
import { itemsFitJob, memoryFitsUnderMax } from './rules.js';

/** A job file read: the job with every default filled in, or all mistakes at once. */
export type ParsedJob =
  | { readonly ok: true; readonly spec: JobSpec; readonly warnings: readonly string[] }
  | { readonly ok: false; readonly errors: readonly ProblemItem[] };

const WHOLE = [memoryFitsUnderMax(DEFAULT_MEMORY), itemsFitJob];

/**
 * Reads a job file that YAML or JSON has made a value of. At most 256 KiB and 16 levels deep. A `JobSpec` is itself a
 * valid file and comes out as it went in. Warnings name fields that have no effect.
 */
export const parseJobSpec = (input: unknown): ParsedJob => {
  const checked = validateInput(JobSpecDto, input, DEFAULT_LIMITS, WHOLE);
  if (!checked.ok) return checked;
  const spec = toJobSpec(checked.value);
  return { ok: true, spec, warnings: warningsOf(checked.value, spec) };
};
