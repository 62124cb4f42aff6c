import { fromMilli } from '#kernel';
import type { Demand, DevicePart, GpuDemand } from './demand.js';
import { memoryFor, WHOLE } from './demand.js';
import { hasRoom, isOfModel, lacks } from './devices.js';
import type { Device, Machine } from './machine.js';

/** Stable codes of what can be short; the same as the reasons of placement where they mean the same. */
export type ShortageCode =
  | 'capacity.cpu'
  | 'capacity.memory'
  | 'capacity.disk'
  | 'capacity.io-slots'
  | 'capacity.gpu-count'
  | 'capacity.gpu-model'
  | 'capacity.gpu-memory'
  | 'capacity.gpu-free'
  | 'capacity.gpu-device';

/** One thing of which more was asked than is free. Amounts in the units of a contract; `message` names them. */
export interface Shortage {
  readonly code: ShortageCode;
  readonly asked: number;
  readonly free: number;
  readonly message: string;
}

/** Everything of which the machine has too little free for the demand, with the smallest batch. */
export const shortagesOf = (demand: Demand, machine: Machine): Shortage[] => {
  const { total, used, devices } = machine;
  const amount = (code: ShortageCode, what: string, asked: number, has: number, taken: number, unit = 1): Shortage[] =>
    short(code, what, asked / unit, (has - taken) / unit, has / unit);
  return [
    ...amount('capacity.cpu', 'cpu', demand.cpu, total.cpu, used.cpu, 1000),
    ...amount('capacity.memory', 'memory', memoryFor(demand, demand.minItems), total.memory, used.memory),
    ...amount('capacity.disk', 'disk', demand.disk, total.disk, used.disk),
    ...amount('capacity.io-slots', 'ioSlots', demand.ioSlots, total.ioSlots, used.ioSlots),
    ...(demand.gpu ? shortOfDevices(demand.gpu, demand.minItems, devices) : []),
    ...(demand.parts ?? []).flatMap((part) => shortOfPart(part, devices)),
  ];
};

const short = (code: ShortageCode, what: string, asked: number, free: number, total: number): Shortage[] => {
  if (!lacks(asked, free)) return [];
  const left = Math.max(0, free);
  return [{ code, asked, free: left, message: `${what}: asked ${asked}, ${left} of ${total} free` }];
};

/** The first of count, model, memory and free share that too few devices pass, so that one shortage is told once. */
const shortOfDevices = (gpu: GpuDemand, items: number, devices: readonly Device[]): Shortage[] => {
  const ofModel = devices.filter((device) => isOfModel(device, gpu));
  const large = ofModel.filter((device) => hasRoom({ ...device, usedShare: 0, usedMemory: 0 }, gpu, items));
  const free = large.filter((device) => hasRoom(device, gpu, items));
  const few = (code: ShortageCode, found: readonly Device[], which: string): Shortage => ({
    code,
    asked: gpu.count,
    free: found.length,
    message: `gpu: asked ${gpu.count}, ${found.length} ${which}`,
  });
  if (devices.length < gpu.count) return [few('capacity.gpu-count', devices, 'on the machine')];
  if (ofModel.length < gpu.count) return [few('capacity.gpu-model', ofModel, `of ${[...gpu.models].join(' or ')}`)];
  if (large.length < gpu.count) return [few('capacity.gpu-memory', large, 'with enough memory')];
  if (free.length < gpu.count) return [few('capacity.gpu-free', free, 'with enough free')];
  return [];
};

const shortOfPart = ({ id, share, memory }: DevicePart, devices: readonly Device[]): Shortage[] => {
  const device = devices.find((one) => one.id === id);
  if (!device) return [{ code: 'capacity.gpu-device', asked: 1, free: 0, message: `gpu ${id}: not on this machine` }];
  const free = WHOLE - device.usedShare;
  const bytes = device.memory - device.usedMemory;
  return [
    ...short('capacity.gpu-free', `gpu ${id} share`, fromMilli(share), fromMilli(free), 1),
    ...short('capacity.gpu-memory', `gpu ${id} memory`, memory, bytes, device.memory),
  ];
};
