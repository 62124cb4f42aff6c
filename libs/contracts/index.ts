export type * from './agent-protocol.js';
export { foldArchitecture } from './architecture.js';
export { isProblemCode, problemDocs, PROBLEMS, problemType, toProblem } from './problems.js';
export type { Problem, ProblemCode, ProblemExtras, ProblemItem, ProblemKind } from './problems.js';
export { problemsPage } from './problems-page.js';
export { formatBytes, formatDuration, MAX_DURATION, parseBytes, parseDuration } from './units.js';
export type { Parsed } from './units.js';
export type * from './vocabulary.js';
