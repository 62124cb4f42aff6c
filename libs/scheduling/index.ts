export { ControlLoop } from './control-loop.js';
export type { ControlLoopParts } from './control-loop.js';
export { DEFAULT_SCHEDULING } from './ports.js';
export type { PresenceSource, SchedulingLog, SchedulingObserver, SchedulingOptions } from './ports.js';
export { AssignmentBoard } from './view/assignment-board.js';
export type { DesiredSet } from './view/assignment-board.js';
export { ClusterView } from './view/cluster-view.js';
