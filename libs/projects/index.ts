export type * from './domain/events.js';
export { PROJECT_STREAM_PREFIX, projectStream } from './domain/events.js';
