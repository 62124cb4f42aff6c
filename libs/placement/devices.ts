import { devicesWithRoom, grantedMemory, memoryFor } from '#governor/budget';
import type { Device, GpuDemand } from '#governor/budget';
import type { JobMix } from './cluster/mix.js';
import type { ClusterNode } from './cluster/state.js';
import type { Demand } from './demand.js';
import { askers, conserved, fragmentation, freeOf, wasted } from './scores/fragmentation.js';

type Mix = Pick<JobMix, 'typical'>;

/** The devices that a job would be given on a node, and by how much its fragmentation grows with it. */
export interface DeviceChoice {
  readonly devices: readonly Device[];
  /** Thousandths of a device; below 0 when fragmentation drops. */
  readonly grown: number;
}

/** Which devices a job is given on a node, or undefined when too few have room. None for a job without GPUs. */
export const chooseDevices = (node: ClusterNode, demand: Demand, items: number, mix: Mix): DeviceChoice | undefined => {
  const { gpu } = demand;
  if (!gpu) return weighing(node, demand, items, mix)([]);
  const room = devicesWithRoom(node.devices, gpu, items);
  return room && chooseAmong(room, node, demand, items, mix);
};

/**
 * Which of the devices that have room, fullest first, to take. For one device each kind of device is weighed, and the one
 * taken that conserves most; among equals, and for several devices, the fullest, so that others stay whole.
 */
export const chooseAmong = (
  room: readonly Device[],
  node: ClusterNode,
  demand: Demand,
  items: number,
  mix: Mix,
): DeviceChoice => {
  const weigh = weighing(node, demand, items, mix);
  const count = demand.gpu?.count ?? 0;
  if (count !== 1) return weigh(room.slice(0, count));
  return room
    .filter((device, index) => index === 0 || !alike(device, room[index - 1] as Device))
    .map((device) => weigh([device]))
    .reduce((best, other) => (conserved(other.grown) > conserved(best.grown) ? other : best));
};

const weighing = (
  { total, used, devices }: ClusterNode,
  demand: Demand,
  items: number,
  mix: Mix,
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
