export { applyAll } from './apply.js';
export { storedContents } from './contents.js';
export { projectInMemory } from './memory-tables.js';
export type { TableContents } from './memory-tables.js';
export { recordedLog } from './recorded.js';
export { startTestPostgres } from './postgres.js';
export type { TestPostgres } from './postgres.js';
export { entriesTable, partsTable, talliesTable, tallyProjection } from './tally.js';
