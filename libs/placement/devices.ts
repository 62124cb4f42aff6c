import { byText } from '#kernel';
import type { JobMix } from './cluster/mix.js';
import type { ClusterNode, Device } from './cluster/state.js';
import { memoryFor } from './demand.js';
import type { Demand, GpuDemand } from './demand.js';
import { grantedMemory, hasRoom, isOfModel } from './gpu.js';
import { askers, conserved, fragmentation, freeOf, wasted } from './scores/fragmentation.js';

/** The devices that a job would be given on a node, and by how much its fragmentation grows with it. */
export interface DeviceChoice {
  readonly devices: readonly Device[];
  /** Thousandths of a device; below 0 when fragmentation drops. */
  readonly grown: number;
}

/**
 * Which devices a job is given on a node, or undefined when too few have room. For one device each kind of device that has
 * room is weighed, and the one taken that conserves most; among equals, and for several devices, the fullest that still
 * have room, so that others stay whole, then the smallest, then by id. No devices for a job without GPUs.
 */
export const chooseDevices = (
  node: ClusterNode,
  demand: Demand,
  items: number,
  mix: Pick<JobMix, 'typical'>,
): DeviceChoice | undefined => {
  const { gpu } = demand;
  const weigh = weighing(node, demand, items, mix);
  if (!gpu) return weigh([]);
  const room = node.devices.filter((device) => isOfModel(device, gpu) && hasRoom(device, gpu, items));
  if (room.length < gpu.count) return undefined;
  room.sort(fullestFirst);
  if (gpu.count !== 1) return weigh(room.slice(0, gpu.count));
  return room
    .filter((device, index) => index === 0 || !alike(device, room[index - 1] as Device))
    .map((device) => weigh([device]))
    .reduce((best, other) => (conserved(other.grown) > conserved(best.grown) ? other : best));
};

const weighing = (
  { total, used, devices }: ClusterNode,
  demand: Demand,
  items: number,
  mix: Pick<JobMix, 'typical'>,
): ((chosen: readonly Device[]) => DeviceChoice) => {
  const free = devices.map(freeOf);
  const [cpu, memory] = [total.cpu - used.cpu, total.memory - used.memory];
  const before = fragmentation(cpu, memory, free, mix);
  const left = askers(cpu - demand.cpu, memory - memoryFor(demand, items), mix);
  const { gpu } = demand;
  return (chosen) => {
    const beside = gpu
      ? free.map((was, place) => {
          const device = devices[place] as Device;
          return chosen.includes(device) ? freeOf(held(device, gpu, items)) : was;
        })
      : free;
    return { devices: chosen, grown: wasted(beside, left) - before };
  };
};

/** Least free share first, then least free memory; among empty devices that is the smallest. */
const fullestFirst = (left: Device, right: Device): number =>
  right.usedShare - left.usedShare ||
  left.memory - left.usedMemory - (right.memory - right.usedMemory) ||
  byText(left.modelKey, right.modelKey) ||
  byText(left.id, right.id);

const alike = (left: Device, right: Device): boolean =>
  left.usedShare === right.usedShare &&
  left.memory === right.memory &&
  left.usedMemory === right.usedMemory &&
  left.modelKey === right.modelKey;

const held = (device: Device, gpu: GpuDemand, items: number): Device => ({
  ...device,
  usedShare: device.usedShare + gpu.share,
  usedMemory: device.usedMemory + grantedMemory(device, gpu, items),
});
