export { parseInventory } from './inventory.dto.js';
export { parseCache, parseDrain, parseEnrollment, parseHeartbeat, parseReason } from './node-requests.dto.js';
export { parsePool } from './pool.dto.js';
export type { PoolRequest } from './pool.dto.js';
export { parsePolicy } from './policy.dto.js';
