export { HEARTBEAT_INTERVAL } from './agent.controller.js';
export { parseDrain, parseEnrollment, parseHeartbeat, parseInventory, parsePolicy } from './dto/index.js';
export { NodesApiModule } from './nodes-api.module.js';
export { PRESENCE_SINK } from './presence.js';
export type { PresenceSink } from './presence.js';
