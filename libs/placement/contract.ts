import { fromMilli } from '#kernel';
import type { Contract } from '#nodes';
import type { JobMix } from './cluster/mix.js';
import type { ClusterNode } from './cluster/state.js';
import { memoryFor } from './demand.js';
import type { Demand, GpuDemand } from './demand.js';
import { chooseDevices } from './devices.js';
import { grantedMemory, hasRoom, isOfModel, itemsThatFit } from './gpu.js';

/**
 * How many items of a batch the node can take now: as many as were asked for, or fewer when memory is short, by the node's
 * memory and by that of its GPUs. Below the job's minimum when not even that fits (the capacity filter keeps such nodes
 * out); 0 for a job without batches.
 */
export const itemsOn = (node: ClusterNode, demand: Demand): number => {
  if (!demand.batched) return 0;
  return Math.max(
    0,
    Math.min(demand.maxItems, itemsInMemory(node, demand), demand.gpu ? itemsOnGpus(node, demand.gpu) : Infinity),
  );
};

const itemsInMemory = ({ total, used }: ClusterNode, demand: Demand): number =>
  demand.memoryPerItem === 0
    ? Infinity
    : Math.floor((total.memory - used.memory - demand.memory) / demand.memoryPerItem);

/** The batch runs on all devices alike, so the last of the `count` roomiest bounds it. */
const itemsOnGpus = (node: ClusterNode, gpu: GpuDemand): number => {
  if (gpu.memoryPerItem === 0) return Infinity;
  const items = node.devices
    .filter((device) => isOfModel(device, gpu) && hasRoom(device, gpu, 0))
    .map((device) => itemsThatFit(device, gpu))
    .sort((left, right) => right - left);
  return items[gpu.count - 1] ?? -1;
};

/**
 * The contract that the node would be given now, or undefined when it has no room for it. Its devices are those that leave
 * the GPUs least fragmented, as the score of the node takes for granted.
 */
export const chooseContract = (
  node: ClusterNode,
  demand: Demand,
  mix: Pick<JobMix, 'typical'>,
): Contract | undefined => {
  const items = itemsOn(node, demand);
  if (items < demand.minItems || !hasAmounts(node, demand, items)) return undefined;
  const { gpu } = demand;
  const devices = chooseDevices(node, demand, items, mix)?.devices;
  if (devices === undefined) return undefined;
  return {
    cpu: fromMilli(demand.cpu),
    memory: memoryFor(demand, items),
    disk: demand.disk,
    ioSlots: demand.ioSlots,
    gpus: gpu
      ? devices.map((device) => ({
          id: device.id,
          share: fromMilli(gpu.share),
          memory: grantedMemory(device, gpu, items),
        }))
      : [],
    ...(demand.batched ? { batchSize: items } : {}),
  };
};

const hasAmounts = ({ total, used }: ClusterNode, demand: Demand, items: number): boolean =>
  demand.cpu <= total.cpu - used.cpu &&
  memoryFor(demand, items) <= total.memory - used.memory &&
  demand.disk <= total.disk - used.disk &&
  demand.ioSlots <= total.ioSlots - used.ioSlots;
