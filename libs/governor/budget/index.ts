/*
 * The pure core of the governor: what a demand gets of a machine. Whoever weighs machines (the control plane every node by
 * its ledger, the agent its own) asks here, so that both sides come to the same answer by the same arithmetic.
 */
export { demandOf, memoryFor, WHOLE } from './demand.js';
export type { Demand, GpuDemand } from './demand.js';
export { devicesWithRoom, grantedMemory, isOfModel, neededOn } from './devices.js';
export type { DeviceChoice } from './devices.js';
export { estimateMistakes } from './estimate.js';
export type { Estimate } from './estimate.js';
export { forecast } from './forecast.js';
export type { ExpectedRelease, Forecast } from './forecast.js';
export { holding, machineOf, without } from './machine.js';
export type { Amounts, Capacity, Device, Machine } from './machine.js';
export { itemsOfNext } from './next-batch.js';
export type { BatchSeen } from './next-batch.js';
export { FREE, HELD, LACKING } from './needs.js';
export type { AmountNeed, DeviceNeed, Need, ShortageCode, Standing } from './needs.js';
export type { Shortage } from './shortage.js';
export { contractFor, itemsOn, needsOf, verdict } from './verdict.js';
export type { Reject, Verdict, Wait } from './verdict.js';
