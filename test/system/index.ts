export { ApiClient } from './api-client.js';
export { enrolLabelled, submitLabelled } from './labelled.js';
export { consumption, inventory, ProtocolNode } from './protocol-node.js';
export type { Assigned } from './protocol-node.js';
export { ManagedProcess, repository } from './managed-process.js';
export { SECRET, TestSystem } from './test-system.js';
export { eventually } from './wait.js';
export { count, eventsOf, heldOn, stateName, statesOf, typesOf, violations, wholeLog } from './histories.js';
export type { RawEvent } from './histories.js';
