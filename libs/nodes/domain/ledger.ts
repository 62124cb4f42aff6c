import type { Contract } from './contract.js';
import type { Inventory } from './inventory.js';

/*
 * Arithmetic over capacity in whole numbers: cores and GPU shares in thousandths, memory and disk in bytes. Sums of such
 * integers are exact below 2⁵³, so "free again at the end" is an equality and not an approximation.
 */

/** What is left on a node. `gpus` maps a device to its free thousandths. */
export interface FreeCapacity {
  readonly cpuMilli: number;
  readonly memory: number;
  readonly disk: number;
  readonly ioSlots: number;
  readonly gpus: Readonly<Record<string, { readonly shareMilli: number; readonly memory: number }>>;
}

export const toMilli = (value: number): number => Math.round(value * 1000);

/** Everything that the node has. */
export const totalCapacity = (inventory: Inventory): FreeCapacity => ({
  cpuMilli: toMilli(inventory.cpu),
  memory: inventory.memory,
  disk: inventory.disk,
  ioSlots: inventory.ioSlots,
  gpus: Object.fromEntries(inventory.gpus.map(({ id, memory }) => [id, { shareMilli: 1000, memory }])),
});

/** What is free when `contracts` are held. May be negative where the inventory has shrunk under them. */
export const freeCapacity = (inventory: Inventory, contracts: Iterable<Contract>): FreeCapacity => {
  let free = totalCapacity(inventory);
  for (const contract of contracts) free = minus(free, contract);
  return free;
};

const minus = (free: FreeCapacity, contract: Contract): FreeCapacity => {
  const gpus = { ...free.gpus };
  for (const { id, share, memory } of contract.gpus) {
    const device = gpus[id] ?? { shareMilli: 0, memory: 0 };
    gpus[id] = { shareMilli: device.shareMilli - toMilli(share), memory: device.memory - memory };
  }
  return {
    cpuMilli: free.cpuMilli - toMilli(contract.cpu),
    memory: free.memory - contract.memory,
    disk: free.disk - contract.disk,
    ioSlots: free.ioSlots - contract.ioSlots,
    gpus,
  };
};

/** One dimension in which a contract asks for more than is free. */
export interface Shortage {
  readonly dimension: string;
  readonly asked: number;
  readonly free: number;
}

/** Every dimension that does not fit; none means that the contract can be held. A device that is not there is a shortage. */
export const shortages = (free: FreeCapacity, contract: Contract): Shortage[] => {
  const checks: Shortage[] = [
    { dimension: 'cpu', asked: toMilli(contract.cpu), free: free.cpuMilli },
    { dimension: 'memory', asked: contract.memory, free: free.memory },
    { dimension: 'disk', asked: contract.disk, free: free.disk },
    { dimension: 'ioSlots', asked: contract.ioSlots, free: free.ioSlots },
    ...contract.gpus.flatMap(({ id, share, memory }) => [
      { dimension: `gpu ${id}`, asked: toMilli(share), free: free.gpus[id]?.shareMilli ?? 0 },
      { dimension: `gpu ${id} memory`, asked: memory, free: free.gpus[id]?.memory ?? 0 },
    ]),
  ];
  return checks.filter(({ asked, free: left }) => asked > Math.max(0, left));
};
