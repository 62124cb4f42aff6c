import type { Contract } from '#nodes';
import { memoryFor } from './demand.js';
import type { Demand } from './demand.js';
import type { Machine } from './machine.js';
import { itemsOn } from './verdict.js';

/** What was seen before a further batch of something that holds its contract already. Bytes. */
export interface BatchSeen {
  /** Free on the machine while nothing of the task runs; absent where that cannot be told. */
  readonly freeMemory?: number;
  /** The batch that ended last, and the most memory that it used at a time. */
  readonly last?: { readonly items: number; readonly peakMemory: number };
}

/**
 * How many items a further batch may have, from the demand's minimum to the batch of the contract that is held. Fewer when
 * the machine, `others` being all that is held by others, or what is free on it in truth has no room for more, or when the
 * last batch showed that an item takes more than was stated. The contract stays as it is, so the minimum always may.
 */
export const itemsOfNext = (demand: Demand, contract: Contract, others: Machine, seen: BatchSeen): number => {
  const granted = contract.batchSize ?? demand.maxItems;
  const perItem = Math.max(demand.memoryPerItem, shownPerItem(demand, seen));
  const within = (memory: number): number =>
    perItem === 0 ? Infinity : Math.floor((memory - memoryFor(demand, 0)) / perItem);
  const items = Math.min(
    granted,
    itemsOn({ ...demand, maxItems: granted }, others),
    within(contract.memory),
    seen.freeMemory === undefined ? Infinity : within(seen.freeMemory),
  );
  return Math.max(Math.min(demand.minItems, granted), items);
};

/** What one item took of the last batch, beyond what the task takes without any. */
const shownPerItem = (demand: Demand, { last }: BatchSeen): number =>
  last && last.items > 0 ? Math.ceil(Math.max(0, last.peakMemory - memoryFor(demand, 0)) / last.items) : 0;
