import type { GrantedGpu } from '#nodes';
import { byText, fromMilli } from '#kernel';
import { WHOLE } from './demand.js';
import type { DevicePart, GpuDemand } from './demand.js';
import type { Device } from './machine.js';

export const isOfModel = ({ modelKey }: Device, { models }: GpuDemand): boolean =>
  models.size === 0 || models.has(modelKey);

/**
 * Bytes that must be free on a device: what is stated, or else the share's part of it, and what the batch adds. A whole
 * device without a stated need must hold only the batch.
 */
export const neededOn = (gpu: GpuDemand, { memory }: Pick<Device, 'memory'>, items: number): number => {
  const wholeOfAny = gpu.memory === undefined && gpu.share >= WHOLE;
  const fixed = wholeOfAny ? 0 : (gpu.memory ?? Math.floor((memory * gpu.share) / WHOLE));
  return fixed + items * gpu.memoryPerItem;
};

/** Whether a device would be enough if nothing were held of it. */
export const couldHold = (device: Device, gpu: GpuDemand, items: number): boolean =>
  isOfModel(device, gpu) && neededOn(gpu, device, items) <= device.memory;

/** Whether what is free of a device is enough. A whole device must be empty. */
export const hasRoom = (device: Device, gpu: GpuDemand, items: number): boolean => {
  if (!isOfModel(device, gpu)) return false;
  const needed = neededOn(gpu, device, items);
  if (gpu.share >= WHOLE) return device.usedShare === 0 && device.usedMemory === 0 && needed <= device.memory;
  return device.usedShare + gpu.share <= WHOLE && device.usedMemory + needed <= device.memory;
};

/** The most items for which `count` devices have room; the batch runs on all alike. −1 when they have room for none. */
export const itemsOnDevices = (devices: readonly Device[], gpu: GpuDemand): number => {
  if (gpu.memoryPerItem === 0) return Infinity;
  const items = devices
    .filter((device) => hasRoom(device, gpu, 0))
    .map((device) => Math.floor((device.memory - device.usedMemory - neededOn(gpu, device, 0)) / gpu.memoryPerItem))
    .sort((left, right) => right - left);
  return items[gpu.count - 1] ?? -1;
};

/** The most items for which parts that were chosen beforehand have room; the batch runs on all alike. */
export const itemsOnParts = (devices: readonly Device[], parts: readonly DevicePart[]): number =>
  Math.min(
    Infinity,
    ...parts.map(({ id, memory, memoryPerItem }) => {
      if (memoryPerItem === 0) return Infinity;
      const device = devices.find((one) => one.id === id);
      return device ? Math.floor((device.memory - device.usedMemory - memory) / memoryPerItem) : -1;
    }),
  );

/**
 * Which of the devices that have room to take, `count` of them; they come fullest first. For those who know more than one
 * machine: what is left of a device matters to them.
 */
export type DeviceChoice = (room: readonly Device[], gpu: GpuDemand, items: number) => readonly Device[];

/**
 * For a share the fullest that still has room, so that others stay whole; for whole devices, which are all empty, the
 * smallest that will do; equals by model and id.
 */
export const fullest: DeviceChoice = (room, { count }) => room.slice(0, count);

/** The devices that have room, fullest first, or undefined where they are too few. */
export const devicesWithRoom = (devices: readonly Device[], gpu: GpuDemand, items: number): Device[] | undefined => {
  const room = devices.filter((device) => hasRoom(device, gpu, items));
  return room.length < gpu.count ? undefined : room.sort(fullestFirst);
};

/** The parts of devices to grant, or undefined where too few have room. */
export const chooseDevices = (
  devices: readonly Device[],
  gpu: GpuDemand,
  items: number,
  choose: DeviceChoice,
): GrantedGpu[] | undefined => {
  const room = devicesWithRoom(devices, gpu, items);
  return (
    room &&
    choose(room, gpu, items).map((device) => ({
      id: device.id,
      share: fromMilli(gpu.share),
      memory: grantedMemory(device, gpu, items),
    }))
  );
};

/** All of a whole device, for nobody else can use the rest. */
export const grantedMemory = (device: Device, gpu: GpuDemand, items: number): number =>
  gpu.share >= WHOLE ? device.memory : neededOn(gpu, device, items);

const fullestFirst = (left: Device, right: Device): number =>
  right.usedShare - left.usedShare ||
  left.memory - left.usedMemory - (right.memory - right.usedMemory) ||
  byText(left.modelKey, right.modelKey) ||
  byText(left.id, right.id);

/** What asks for nothing is never short, not even of what is over-committed. */
export const lacks = (asked: number, free: number): boolean => asked > 0 && asked > free;
