import { partMemory, WHOLE } from './demand.js';
import type { DevicePart, GpuDemand } from './demand.js';
import { couldHold, hasRoom, isOfModel } from './devices.js';
import type { Device, Machine } from './machine.js';
import { FREE, HELD, LACKING, standingOf } from './needs.js';
import type { AmountNeed, DeviceNeed, Need, ShortageCode } from './needs.js';

/** Each asks only what the one before has let through, so that one shortage is told once. */
export const deviceNeeds = (gpu: GpuDemand, items: number): DeviceNeed[] => {
  const { count, models } = gpu;
  const any: Accepts = () => true;
  const ofModel: Accepts = (device) => isOfModel(device, gpu);
  const large: Accepts = (device) => couldHold(device, gpu, items);
  const free: Accepts = (device) => hasRoom(device, gpu, items);
  return [
    need(count, 'capacity.gpu-count', 'on the machine', undefined, any, LACKING),
    ...(models.size > 0
      ? [need(count, 'capacity.gpu-model', `of ${[...models].join(' or ')}`, any, ofModel, LACKING)]
      : []),
    need(count, 'capacity.gpu-memory', 'with enough memory', ofModel, large, LACKING),
    need(count, 'capacity.gpu-free', 'with enough free', large, free, HELD),
  ];
};

type Accepts = (device: Device) => boolean;

const need = (
  asked: number,
  code: ShortageCode,
  which: string,
  before: Accepts | undefined,
  accepts: Accepts,
  otherwise: typeof HELD | typeof LACKING,
): DeviceNeed => ({
  kind: 'devices',
  code,
  asked,
  found: ({ devices }) => countOf(devices, accepts),
  words: (found) => `gpu: asked ${asked}, ${found} ${which}`,
  standing: ({ devices }) => {
    if (before && countOf(devices, before) < asked) return FREE;
    return countOf(devices, accepts) < asked ? otherwise : FREE;
  },
});

const countOf = (devices: readonly Device[], accepts: Accepts): number => {
  let found = 0;
  for (const device of devices) if (accepts(device)) found += 1;
  return found;
};

/** A part of a device that somebody else has chosen. The amounts of a device that is not there are not asked for. */
export const partNeeds = (part: DevicePart, items: number): Need[] =>
  partNeedsOf(part.id, part.share, partMemory(part, items));

const partNeedsOf = (id: string, share: number, memory: number): Need[] => [
  {
    kind: 'devices',
    code: 'capacity.gpu-device',
    asked: 1,
    words: () => `gpu ${id}: not on this machine`,
    found: (machine) => (deviceOf(machine, id) ? 1 : 0),
    standing: (machine) => (deviceOf(machine, id) ? FREE : LACKING),
  },
  amountOfDevice(id, 'capacity.gpu-free', 'share', share, WHOLE, ({ usedShare }) => [WHOLE, usedShare]),
  amountOfDevice(id, 'capacity.gpu-memory', 'memory', memory, 1, (device) => [device.memory, device.usedMemory]),
];

const deviceOf = ({ devices }: Machine, id: string): Device | undefined => devices.find((one) => one.id === id);

const amountOfDevice = (
  id: string,
  code: ShortageCode,
  what: string,
  asked: number,
  unit: number,
  of: (device: Device) => readonly [total: number, used: number],
): AmountNeed => {
  const amounts = (machine: Machine): readonly [number, number] | undefined => {
    const device = deviceOf(machine, id);
    return device && of(device);
  };
  const total = (machine: Machine): number => amounts(machine)?.[0] ?? 0;
  const free = (machine: Machine): number => total(machine) - (amounts(machine)?.[1] ?? 0);
  const standing: AmountNeed['standing'] = (machine) =>
    deviceOf(machine, id) ? standingOf(asked, total(machine), free(machine)) : FREE;
  return { kind: 'amount', code, what: `gpu ${id} ${what}`, asked, unit, total, free, standing };
};
