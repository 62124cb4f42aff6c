import { toMilli } from '#kernel';
import type { Contract } from './contract.js';
import type { Inventory } from './inventory.js';
import type { Policy } from './policy.js';

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

/**
 * Every dimension that does not fit; none means that the contract can be held. A device that is not there is a shortage, and
 * so is what is no amount at all (negative, not a number): it must never reach a ledger.
 */
export const shortages = (free: FreeCapacity, contract: Contract): Shortage[] => {
  const checks: Shortage[] = [
    { dimension: 'cpu', asked: toMilli(contract.cpu), free: free.cpuMilli },
    { dimension: 'memory', asked: contract.memory, free: free.memory },
    { dimension: 'disk', asked: contract.disk, free: free.disk },
    { dimension: 'ioSlots', asked: contract.ioSlots, free: free.ioSlots },
    ...perDevice(contract).flatMap(({ id, shareMilli, memory }) => [
      { dimension: `gpu ${id}`, asked: shareMilli, free: free.gpus[id]?.shareMilli ?? 0 },
      { dimension: `gpu ${id} memory`, asked: memory, free: free.gpus[id]?.memory ?? 0 },
    ]),
  ];
  return checks.filter(({ asked, free: left }) => !(asked >= 0 && asked <= Math.max(0, left)));
};

/** Whether a contract asks in no part for more than another. */
export const isWithin = (contract: Contract, other: Contract): boolean =>
  shortages(capacityOf(other), contract).length === 0 && (contract.batchSize ?? 0) <= (other.batchSize ?? 0);

const capacityOf = (contract: Contract): FreeCapacity => ({
  cpuMilli: toMilli(contract.cpu),
  memory: contract.memory,
  disk: contract.disk,
  ioSlots: contract.ioSlots,
  gpus: Object.fromEntries(perDevice(contract).map(({ id, shareMilli, memory }) => [id, { shareMilli, memory }])),
});

/** A device that is named twice is asked for the sum. */
const perDevice = ({ gpus }: Contract): { id: string; shareMilli: number; memory: number }[] =>
  [...new Set(gpus.map(({ id }) => id))].map((id) => {
    const parts = gpus.filter((gpu) => gpu.id === id);
    // One part that is no amount must not hide behind another.
    const total = (amounts: number[]) => (amounts.every((amount) => amount >= 0) ? sum(amounts) : Number.NaN);
    return {
      id,
      shareMilli: total(parts.map(({ share }) => toMilli(share))),
      memory: total(parts.map(({ memory }) => memory)),
    };
  });

const sum = (amounts: readonly number[]): number => amounts.reduce((total, amount) => total + amount, 0);

/** Thousandths of a core that the owner's policy lets a project hold here at once; Infinity when it sets no bound. */
export const projectShareMilli = ({ cpu }: Inventory, { maxShare }: Policy, project: string): number =>
  maxShare !== undefined && Object.hasOwn(maxShare, project)
    ? Math.floor((maxShare[project] ?? 1) * toMilli(cpu) + 1e-6)
    : Infinity;
