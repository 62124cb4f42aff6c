import { memoryFor } from '#governor/budget';
import { fromMilli } from '#kernel';
import type { Price } from '#nodes';
import type { Demand } from './demand.js';

const GIB = 1024 ** 3;

/** What an hour of the demand costs at an owner's price, with a batch of so many items; 0 without a price. */
export const priceOf = (price: Price | undefined, demand: Demand, items: number): number => {
  if (!price) return 0;
  const shares = demand.gpu ? demand.gpu.count * demand.gpu.share : 0;
  return (
    fromMilli(demand.cpu) * (price.cpuHour ?? 0) +
    fromMilli(shares) * (price.gpuHour ?? 0) +
    (memoryFor(demand, items) / GIB) * (price.memoryGiBHour ?? 0)
  );
};
