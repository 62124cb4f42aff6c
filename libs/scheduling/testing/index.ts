export { MemorySnapshots } from './memory-snapshots.js';
export { SchedulingWorld } from './scheduling-world.js';
