export type { Estimate } from './estimate.js';
export { ResourceGovernor } from './governor.js';
export type { Granted, Outlook, Release, Reservation, Reserved } from './governor.js';
export type { Forecast } from './forecast.js';
export { machineOf } from './machine.js';
export type { Capacity, Machine } from './machine.js';
export { demandOf } from './demand.js';
export type { Demand } from './demand.js';
export type { DeviceChoice } from './devices.js';
export type { Shortage, ShortageCode } from './shortage.js';
export { contractFor, verdict } from './verdict.js';
export type { Verdict } from './verdict.js';
export { runInBatches } from './queue/batches.js';
export type { BatchSequence, SequenceEnd } from './queue/batches.js';
export type { Governor } from './queue/admission.js';
export { laneByNeed } from './queue/lane.js';
export type { Discipline } from './queue/lane.js';
export { TaskQueue } from './queue/task-queue.js';
export type { Destroyed, LaneOptions, QueueOptions, Submitted } from './queue/task-queue.js';
export type {
  Step,
  TaskControl,
  TaskDependency,
  TaskEnd,
  TaskRequest,
  TaskState,
  TaskView,
  Work,
} from './queue/task.js';
export type { JoinLimit } from './queue/workers.js';
