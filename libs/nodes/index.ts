export type * from './domain/contract.js';
export type * from './domain/events.js';
export type * from './domain/inventory.js';
export type * from './domain/policy.js';
export { NODE_STREAM_PREFIX, nodeStream } from './domain/events.js';
