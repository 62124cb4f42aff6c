import type { BatchRequest, ResourceRequest } from '#jobs';
import type { GrantedGpu } from '#nodes';

/**
 * What a task says that it needs, before anything is granted; it never changes after the task is made. Units as in a job:
 * cores, bytes, a count of slots, shares of a device in 0…1, seconds.
 */
export interface Estimate {
  readonly resources: ResourceRequest;
  /** Bytes per item come on top of `resources.memory` and of each device's memory. */
  readonly batch?: BatchRequest;
  /**
   * Parts of named devices, where somebody else has chosen them, each with its memory before what a batch adds to a share;
   * then `resources.gpu` is absent.
   */
  readonly devices?: readonly GrantedGpu[];
  /** Seconds until the task ends, as an upper bound; absent when nobody knows. */
  readonly duration?: number;
}

interface Amount {
  readonly name: string;
  readonly value: number | undefined;
  readonly least: number;
  readonly most: number;
  readonly whole: boolean;
}

/** The largest sum that is exact in a double. */
const EXACT = Number.MAX_SAFE_INTEGER;

/** Every mistake in an estimate, in words; none when amounts are amounts and the batch's minimum is not above its size. */
export const estimateMistakes = (estimate: Estimate): string[] => {
  const { batch, devices, resources } = estimate;
  const mistakes = amountsOf(estimate).flatMap(mistakeOf);
  if (batch && batch.min > batch.size) mistakes.push(`batch.min: ${batch.min} is above batch.size ${batch.size}`);
  if (devices && resources.gpu) mistakes.push('devices: stated beside resources.gpu');
  return mistakes;
};

const amountsOf = ({ resources, batch, devices = [], duration }: Estimate): Amount[] => {
  const { gpu } = resources;
  return [
    amount('resources.cpu', resources.cpu, 0, EXACT / 1000, false),
    amount('resources.memory', resources.memory),
    amount('resources.disk', resources.disk),
    amount('resources.ioSlots', resources.ioSlots),
    amount('resources.gpu.count', gpu?.count),
    amount('resources.gpu.share', gpu?.share, 0.001, 1, false),
    amount('resources.gpu.memory', gpu?.memory),
    amount('batch.size', batch?.size, 1),
    amount('batch.min', batch?.min, 1),
    amount('batch.memoryPerItem', batch?.memoryPerItem),
    amount('batch.gpuMemoryPerItem', batch?.gpuMemoryPerItem),
    amount('duration', duration, 0, EXACT / 1000, false),
    ...devices.flatMap(({ share, memory }, index) => [
      amount(`devices.${index}.share`, share, 0, 1, false),
      amount(`devices.${index}.memory`, memory),
    ]),
  ];
};

const amount = (name: string, value: number | undefined, least = 0, most = EXACT, whole = true): Amount => ({
  name,
  value,
  least,
  most,
  whole,
});

const mistakeOf = ({ name, value, least, most, whole }: Amount): string[] => {
  if (value === undefined) return [];
  if (value >= least && value <= most && (!whole || Number.isInteger(value))) return [];
  return [`${name}: ${value} is not ${whole ? 'a whole number' : 'a number'} in ${least}…${most}`];
};
