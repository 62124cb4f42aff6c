export { MemorySnapshots } from './memory-snapshots.js';
