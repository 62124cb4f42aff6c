export type * from './agent-protocol.js';
export type * from './vocabulary.js';
