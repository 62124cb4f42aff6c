export { parseDrain, parseEnrollment, parseHeartbeat, parseInventory, parsePolicy } from './dto/index.js';
