import { toMilli } from '#kernel';
import type { Contract } from '../domain/contract.js';
import type { FreeCapacity } from '../domain/ledger.js';

export const NOTHING_HELD: FreeCapacity = { cpuMilli: 0, memory: 0, disk: 0, ioSlots: 0, gpus: {} };

/** The sums with one contract more (`sign` 1) or less (−1); exact, because all are whole numbers. */
export const withContract = (held: FreeCapacity, contract: Contract, sign: 1 | -1): FreeCapacity => {
  const gpus = new Map(Object.entries(held.gpus));
  for (const { id, share, memory } of contract.gpus) {
    const before = gpus.get(id) ?? { shareMilli: 0, memory: 0 };
    const after = { shareMilli: before.shareMilli + sign * toMilli(share), memory: before.memory + sign * memory };
    if (after.shareMilli === 0 && after.memory === 0) gpus.delete(id);
    else gpus.set(id, after);
  }
  return {
    cpuMilli: held.cpuMilli + sign * toMilli(contract.cpu),
    memory: held.memory + sign * contract.memory,
    disk: held.disk + sign * contract.disk,
    ioSlots: held.ioSlots + sign * contract.ioSlots,
    gpus: Object.fromEntries(gpus),
  };
};

/** Capacity as the API shows it: cores and shares as numbers, the rest in bytes and counts. */
export interface CapacityView {
  readonly cpu: number;
  readonly memory: number;
  readonly disk: number;
  readonly ioSlots: number;
  readonly gpus: readonly { readonly id: string; readonly share: number; readonly memory: number }[];
}

export const capacityView = ({ cpuMilli, memory, disk, ioSlots, gpus }: FreeCapacity): CapacityView => ({
  cpu: cpuMilli / 1000,
  memory,
  disk,
  ioSlots,
  gpus: Object.entries(gpus).map(([id, device]) => ({ id, share: device.shareMilli / 1000, memory: device.memory })),
});

/** What is left of the whole. Negative where the inventory has shrunk under what is held. */
export const difference = (whole: FreeCapacity, held: FreeCapacity): FreeCapacity => {
  const gpus = { ...whole.gpus };
  for (const [id, { shareMilli, memory }] of Object.entries(held.gpus)) {
    const device = gpus[id] ?? { shareMilli: 0, memory: 0 };
    gpus[id] = { shareMilli: device.shareMilli - shareMilli, memory: device.memory - memory };
  }
  return {
    cpuMilli: whole.cpuMilli - held.cpuMilli,
    memory: whole.memory - held.memory,
    disk: whole.disk - held.disk,
    ioSlots: whole.ioSlots - held.ioSlots,
    gpus,
  };
};
