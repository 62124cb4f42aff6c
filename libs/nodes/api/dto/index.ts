export { InventoryDto, parseInventory } from './inventory.dto.js';
export {
  DrainDto,
  EnrollDto,
  HeartbeatDto,
  parseDrain,
  parseEnrollment,
  parseHeartbeat,
  parseReason,
  ReasonDto,
} from './node-requests.dto.js';
export { parsePolicy, PolicyDto } from './policy.dto.js';
