export type * from './domain/events.js';
export { PROJECT_STREAM_PREFIX, projectStream } from './domain/events.js';
export { isMember, projectDecider } from './domain/project-decider.js';
export type { ConfigureProject, ProjectCommand, ProjectState } from './domain/project-decider.js';
