import type { Device } from './cluster/state.js';
import type { GpuDemand } from './demand.js';

const WHOLE = 1000;

export const isOfModel = (device: Device, { models }: GpuDemand): boolean =>
  models.size === 0 || models.has(device.modelKey);

/**
 * Bytes that must be granted on a device: what the job states, or else the share's part of the device, and what the items
 * of a batch add.
 */
export const gpuMemoryFor = (gpu: GpuDemand, deviceMemory: number, items: number): number =>
  (gpu.memory ?? Math.floor((deviceMemory * gpu.share) / WHOLE)) + items * gpu.memoryPerItem;

/** What a whole device without a stated need must hold: only what the batch adds. */
const neededOf = (gpu: GpuDemand, device: Device, items: number): number =>
  gpu.memory === undefined && gpu.share >= WHOLE ? items * gpu.memoryPerItem : gpuMemoryFor(gpu, device.memory, items);

/** Whether the device, were it empty, is large enough. */
export const couldHold = (device: Device, gpu: GpuDemand, items: number): boolean =>
  neededOf(gpu, device, items) <= device.memory;

/** Whether what is free of the device is enough: a whole device must be empty. */
export const hasRoom = (device: Device, gpu: GpuDemand, items: number): boolean => {
  if (gpu.share >= WHOLE) return device.usedShare === 0 && device.usedMemory === 0 && couldHold(device, gpu, items);
  return device.usedShare + gpu.share <= WHOLE && device.usedMemory + neededOf(gpu, device, items) <= device.memory;
};

/** The most items for which the device has room, given that it has room for none at all; Infinity without a need by item. */
export const itemsThatFit = (device: Device, gpu: GpuDemand): number => {
  if (gpu.memoryPerItem === 0) return Infinity;
  return Math.floor((device.memory - device.usedMemory - neededOf(gpu, device, 0)) / gpu.memoryPerItem);
};

/** Bytes to grant: all of a whole device, for nobody else can use the rest. */
export const grantedMemory = (device: Device, gpu: GpuDemand, items: number): number =>
  gpu.share >= WHOLE ? device.memory : neededOf(gpu, device, items);
