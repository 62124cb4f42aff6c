export { simulate } from './simulate.js';
export type { Allocation, SimulationOptions, SimulationResult, Unplaced } from './simulate.js';
export { readJobs, readNodes } from './trace.js';
export type { Read, TraceJob, TraceMistake, TraceNode } from './trace.js';
