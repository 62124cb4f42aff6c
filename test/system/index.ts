export { ApiClient } from './api-client.js';
export { ManagedProcess, repository } from './managed-process.js';
export { SECRET, TestSystem } from './test-system.js';
export { eventually } from './wait.js';
