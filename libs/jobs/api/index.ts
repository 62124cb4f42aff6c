export { parsePriority, parseReason, parseReport, parseReports, parseRerun } from './dto/index.js';
export { canonicalFingerprint } from './fingerprint.js';
export { parseJobSpec } from './job-file.js';
export type { ParsedJob } from './job-file.js';
