import { fromMilli } from '#kernel';
import type { Rejection } from '#kernel';
import type { Contract, GrantedGpu } from '#nodes';
import { memoryFor, partMemory } from './demand.js';
import type { Demand } from './demand.js';
import { chooseDevices, fullest, itemsOnDevices, itemsOnParts, lacks } from './devices.js';
import type { DeviceChoice } from './devices.js';
import type { Machine } from './machine.js';
import { deviceNeeds, partNeeds } from './device-needs.js';
import { amountNeeds, FREE, LACKING } from './needs.js';
import type { Need } from './needs.js';
import { shortageOf } from './shortage.js';

/**
 * The governor's answer to a demand. GRANT: all of it, now. REDUCE_BATCH: now, with fewer items than asked for. WAIT: it
 * fits the machine but not beside what is held. REJECT: it can never run here; the code is that of the first shortage, or
 * `estimate.invalid`, and the message names them all.
 */
export type Verdict =
  | { readonly kind: 'GRANT'; readonly contract: Contract }
  | { readonly kind: 'REDUCE_BATCH'; readonly contract: Contract; readonly asked: number }
  | Wait
  | Reject;

export interface Wait {
  readonly kind: 'WAIT';
  readonly reason: Rejection;
}

export interface Reject {
  readonly kind: 'REJECT';
  readonly reason: Rejection;
}

/** The pure core: what a demand gets of a machine. Reasons are looked for only where there is no contract. */
export const verdict = (demand: Demand, machine: Machine, choose: DeviceChoice = fullest): Verdict => {
  const contract = contractFor(demand, machine, choose);
  if (contract)
    return (contract.batchSize ?? 0) < demand.maxItems
      ? { kind: 'REDUCE_BATCH', contract, asked: demand.maxItems }
      : { kind: 'GRANT', contract };
  const short = needsOf(demand).filter((need) => need.standing(machine) !== FREE);
  const never = short.filter((need) => need.standing(machine) === LACKING);
  return never.length > 0
    ? { kind: 'REJECT', reason: reasonOf(never, machine) }
    : { kind: 'WAIT', reason: reasonOf(short, machine) };
};

/** What a demand needs, with its smallest batch, in the order in which shortages are told. */
export const needsOf = (demand: Demand): Need[] => [
  ...amountNeeds('capacity.cpu', 'cpu', demand.cpu, 1000),
  ...amountNeeds('capacity.memory', 'memory', memoryFor(demand, demand.minItems)),
  ...amountNeeds('capacity.disk', 'disk', demand.disk),
  ...amountNeeds('capacity.io-slots', 'ioSlots', demand.ioSlots),
  ...(demand.gpu ? deviceNeeds(demand.gpu, demand.minItems) : []),
  ...(demand.parts ?? []).flatMap((part) => partNeeds(part, demand.minItems)),
];

const reasonOf = (short: readonly Need[], machine: Machine): Rejection => {
  const shortages = short.map((need) => shortageOf(need, machine));
  const message = shortages.map((one) => one.message).join('; ');
  return { code: shortages[0]?.code ?? 'capacity', message, details: { shortages } };
};

/**
 * How many items of a batch the machine can take now: as many as are asked for, or fewer when memory is short, its own or
 * that of its devices. Below the demand's minimum where not even that fits; 0 for a task without batches.
 */
export const itemsOn = (demand: Demand, { total, used, devices }: Machine): number => {
  if (!demand.batched) return 0;
  const { memoryPerItem, gpu, parts = [] } = demand;
  const free = total.memory - used.memory - demand.memory;
  const items = Math.min(
    demand.maxItems,
    memoryPerItem === 0 ? Infinity : Math.floor(free / memoryPerItem),
    gpu ? itemsOnDevices(devices, gpu) : itemsOnParts(devices, parts),
  );
  return Math.max(0, items);
};

/** The contract of GRANT or REDUCE_BATCH, or undefined, without reasons: for those who look at thousands of machines. */
export const contractFor = (demand: Demand, machine: Machine, choose: DeviceChoice = fullest): Contract | undefined => {
  const items = itemsOn(demand, machine);
  if (items < demand.minItems || !hasAmounts(demand, machine, items)) return undefined;
  const gpus = devicesFor(demand, machine, items, choose);
  return (
    gpus && {
      cpu: fromMilli(demand.cpu),
      memory: memoryFor(demand, items),
      disk: demand.disk,
      ioSlots: demand.ioSlots,
      gpus,
      ...(demand.batched ? { batchSize: items } : {}),
    }
  );
};

const hasAmounts = (demand: Demand, { total, used }: Machine, items: number): boolean =>
  !lacks(demand.cpu, total.cpu - used.cpu) &&
  !lacks(memoryFor(demand, items), total.memory - used.memory) &&
  !lacks(demand.disk, total.disk - used.disk) &&
  !lacks(demand.ioSlots, total.ioSlots - used.ioSlots);

const devicesFor = (
  { gpu, parts }: Demand,
  machine: Machine,
  items: number,
  choose: DeviceChoice,
): readonly GrantedGpu[] | undefined => {
  if (gpu) return chooseDevices(machine.devices, gpu, items, choose);
  if (!parts) return [];
  const needs = parts.flatMap((part) => partNeeds(part, items));
  return needs.every((need) => need.standing(machine) === FREE)
    ? parts.map((part) => ({ id: part.id, share: fromMilli(part.share), memory: partMemory(part, items) }))
    : undefined;
};
