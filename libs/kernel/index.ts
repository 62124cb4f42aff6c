export { accept, fold, reject } from './decider.js';
export type { Accepted, Decider, Decision, Rejected, Rejection } from './decider.js';
export { unreachable } from './exhaustive.js';
export { FakeTime } from './fake-time.js';
export { byText, hash32 } from './order.js';
export type { Clock, Ids, Millis, Random, Timer, Timers } from './ports.js';
export { countingIds, seededRandom } from './random.js';
export { systemClock, systemIds, systemRandom, systemTimers } from './system.js';
