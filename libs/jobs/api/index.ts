export { JobSpecDto, PROFILES } from './dto/job-spec.dto.js';
export { canonicalFingerprint } from './fingerprint.js';
export { parseJobSpec } from './job-file.js';
export type { ParsedJob } from './job-file.js';
