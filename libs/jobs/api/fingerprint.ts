import { createHash } from 'node:crypto';
import { byText } from '#kernel';
import type { JobSpec } from '../domain/job-spec.js';

const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).toSorted(([left], [right]) => byText(left, right));
  return Object.fromEntries(entries.map(([key, content]) => [key, sorted(content)]));
};

/**
 * SHA-256 (hexadecimal) of the job's canonical JSON, names in the order of their code units. Two files that mean the same
 * job have the same fingerprint, however they write their sizes, defaults and fields. A rerun is another request than a
 * submission of the same job.
 */
export const canonicalFingerprint = (spec: JobSpec, rerunOf?: string): string =>
  createHash('sha256')
    .update(JSON.stringify(sorted(rerunOf === undefined ? spec : { rerunOf, spec })))
    .digest('hex');
