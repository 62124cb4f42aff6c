export { EmbeddedPostgresUnavailable, PortTaken } from './faults.js';
export { freePort, requirePort } from './ports.js';
export { startEmbeddedPostgres } from './start.js';
export type { EmbeddedPostgres, EmbeddedPostgresOptions } from './start.js';
