import { toMilli } from '#kernel';
import type { Contract, Inventory } from '#nodes';
import { partsOf } from './demand.js';

/** What there is to be granted, in the units of an inventory: cores, bytes, slots, devices. */
export type Capacity = Pick<Inventory, 'cpu' | 'memory' | 'disk' | 'ioSlots' | 'gpus'>;

/** Whole numbers: cores in thousandths, bytes, slots. */
export interface Amounts {
  readonly cpu: number;
  readonly memory: number;
  readonly disk: number;
  readonly ioSlots: number;
}

/** A GPU and what is held of it: `usedShare` in thousandths, bytes. `modelKey` is the model in lower case. */
export interface Device {
  readonly id: string;
  readonly model: string;
  readonly modelKey: string;
  readonly memory: number;
  readonly usedShare: number;
  readonly usedMemory: number;
}

/** What a machine has and what is held of it, summed, so that a verdict costs the same however many hold something. */
export interface Machine {
  readonly total: Amounts;
  readonly used: Amounts;
  readonly devices: readonly Device[];
}

/** The machine when `held` are held. More may be held than there is where the capacity has shrunk under them. */
export const machineOf = ({ cpu, memory, disk, ioSlots, gpus }: Capacity, held: Iterable<Contract> = []): Machine => {
  let machine: Machine = {
    total: { cpu: toMilli(cpu), memory, disk, ioSlots },
    used: { cpu: 0, memory: 0, disk: 0, ioSlots: 0 },
    devices: gpus.map((device) => ({
      ...device,
      modelKey: device.model.toLowerCase(),
      usedShare: 0,
      usedMemory: 0,
    })),
  };
  for (const contract of held) machine = holding(machine, contract);
  return machine;
};

/** The machine when one more contract is held. Parts of devices that are not there count for nothing. */
export const holding = (machine: Machine, contract: Contract): Machine => changed(machine, contract, 1);

/** The machine when a contract is held no more. */
export const without = (machine: Machine, contract: Contract): Machine => changed(machine, contract, -1);

const changed = ({ total, used, devices }: Machine, contract: Contract, sign: 1 | -1): Machine => {
  const parts = new Map(partsOf(contract.gpus).map((part) => [part.id, part]));
  return {
    total,
    used: {
      cpu: used.cpu + sign * toMilli(contract.cpu),
      memory: used.memory + sign * contract.memory,
      disk: used.disk + sign * contract.disk,
      ioSlots: used.ioSlots + sign * contract.ioSlots,
    },
    devices: devices.map((device) => {
      const part = parts.get(device.id);
      if (!part) return device;
      const { usedShare, usedMemory } = device;
      return { ...device, usedShare: usedShare + sign * part.share, usedMemory: usedMemory + sign * part.memory };
    }),
  };
};
