import { toMilli } from '#kernel';
import type { GpuRequest } from '#jobs';
import type { GrantedGpu } from '#nodes';
import type { Estimate } from './estimate.js';

/*
 * Budgets are computed in whole numbers: cores and shares in thousandths, bytes, slots. Their sums are exact below 2⁵³, so
 * what is free after the last release equals what there is, and not about so.
 */

/** `share` in thousandths; `memory` on each device before what a batch adds, absent: the share's part of the device. */
export interface GpuDemand {
  readonly count: number;
  readonly share: number;
  readonly memory: number | undefined;
  readonly memoryPerItem: number;
  /** Lower case; empty accepts any. */
  readonly models: ReadonlySet<string>;
}

/** A part of a device that was chosen beforehand; thousandths and bytes, `memory` before what a batch adds. */
export interface DevicePart {
  readonly id: string;
  readonly share: number;
  readonly memory: number;
  readonly memoryPerItem: number;
}

/**
 * An estimate in whole numbers. A task that works in batches needs `memory + items × memoryPerItem`, and so on each device;
 * it can run with `minItems` and wants `maxItems`.
 */
export interface Demand {
  readonly cpu: number;
  readonly memory: number;
  readonly memoryPerItem: number;
  readonly minItems: number;
  readonly maxItems: number;
  readonly batched: boolean;
  readonly disk: number;
  readonly ioSlots: number;
  readonly gpu: GpuDemand | undefined;
  /** At most one part of each device. */
  readonly parts?: readonly DevicePart[];
}

export const WHOLE = 1000;

export const demandOf = ({ resources, batch, devices }: Estimate): Demand => ({
  cpu: toMilli(resources.cpu),
  memory: resources.memory,
  memoryPerItem: batch?.memoryPerItem ?? 0,
  minItems: batch?.min ?? 0,
  maxItems: batch?.size ?? 0,
  batched: batch !== undefined,
  disk: resources.disk,
  ioSlots: resources.ioSlots,
  gpu: gpuDemand(resources.gpu, batch?.gpuMemoryPerItem ?? 0),
  ...(devices && { parts: partsOf(devices, batch?.gpuMemoryPerItem) }),
});

const gpuDemand = (gpu: GpuRequest | undefined, memoryPerItem: number): GpuDemand | undefined =>
  gpu && gpu.count > 0
    ? {
        count: gpu.count,
        share: toMilli(gpu.share),
        memory: gpu.memory,
        memoryPerItem,
        models: new Set(gpu.models.map((model) => model.toLowerCase())),
      }
    : undefined;

/** A device that is named twice is asked for the sum. All of a whole device is granted already: items add nothing. */
export const partsOf = (granted: readonly GrantedGpu[], perItem = 0): DevicePart[] => {
  const sums = new Map<string, { share: number; memory: number }>();
  for (const { id, share, memory } of granted) {
    const before = sums.get(id);
    sums.set(id, { share: (before?.share ?? 0) + toMilli(share), memory: (before?.memory ?? 0) + memory });
  }
  return Array.from(sums, ([id, sum]) => ({ id, ...sum, memoryPerItem: sum.share < WHOLE ? perItem : 0 }));
};

/** Bytes of a chosen part with a batch of so many items. */
export const partMemory = ({ memory, memoryPerItem }: DevicePart, items: number): number =>
  memory + items * memoryPerItem;

/** Bytes of memory with a batch of so many items. */
export const memoryFor = ({ memory, memoryPerItem }: Demand, items: number): number => memory + items * memoryPerItem;
