export { ResourceGovernor } from './governor.js';
export type { Granted, Outlook, Release, Reservation, Reserved } from './governor.js';
export { contractFor, demandOf, machineOf, verdict } from './budget/index.js';
export type {
  BatchSeen,
  Capacity,
  Demand,
  DeviceChoice,
  Estimate,
  Forecast,
  Machine,
  Shortage,
  ShortageCode,
  Verdict,
} from './budget/index.js';
export { runInBatches } from './queue/batches.js';
export type { BatchSequence, SequenceEnd } from './queue/batches.js';
export type { Governor } from './queue/admission.js';
export { laneByNeed } from './queue/lane.js';
export type { Discipline } from './queue/lane.js';
export { TaskQueue } from './queue/task-queue.js';
export type { Destroyed, LaneOptions, LaneView, QueueOptions, Submitted } from './queue/task-queue.js';
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
export { beginSequence, halved, isDone, itemsDone, nextRange, rangeDone } from './sequence/sequence.js';
export type { ItemRange, Sequence } from './sequence/sequence.js';
