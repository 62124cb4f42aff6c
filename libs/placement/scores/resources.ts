import type { ClusterNode } from '../cluster/state.js';
import { memoryFor } from '../demand.js';
import type { Demand } from '../demand.js';
import type { PlacementRequest } from '../request.js';
import type { Strategy } from './profiles.js';

/** What a node with GPUs keeps of its value for a job that uses none: such jobs belong elsewhere while there is room. */
const GPU_NODE_WITHOUT_GPU_JOB = 0.25;

/**
 * Resources, raw in 0…1: how full the node is once the contract is on it, as the mean over the dimensions that the job asks
 * for (CPU, memory, disk, I/O slots, GPU shares), from the node's inventory and ledger. Packing (best fit) takes it as the
 * value, so that large gaps stay whole for large jobs; spreading takes the rest, divided by how many executions of the
 * same job are there already. It does not see yet into how small pieces GPUs are cut.
 */
export const fullness = ({ total, used, devices, usedShares }: ClusterNode, demand: Demand, items: number): number => {
  let sum = 0;
  let dimensions = 0;
  const add = (asked: number, held: number, all: number): void => {
    if (asked <= 0 || all <= 0) return;
    sum += Math.min(1, (held + asked) / all);
    dimensions += 1;
  };
  add(demand.cpu, used.cpu, total.cpu);
  add(memoryFor(demand, items), used.memory, total.memory);
  add(demand.disk, used.disk, total.disk);
  add(demand.ioSlots, used.ioSlots, total.ioSlots);
  if (demand.gpu) add(demand.gpu.count * demand.gpu.share, usedShares, devices.length * 1000);
  return dimensions === 0 ? 0 : sum / dimensions;
};

export const resourcesValue = (
  raw: number,
  node: ClusterNode,
  strategy: Strategy,
  request: PlacementRequest,
): number => {
  const value = strategy === 'pack' ? raw : (1 - raw) / (1 + instancesOn(node, request.jobId));
  return node.devices.length > 0 && !request.spec.resources.gpu ? value * GPU_NODE_WITHOUT_GPU_JOB : value;
};

const instancesOn = ({ ledger }: ClusterNode, job: string): number => {
  let count = 0;
  for (const { jobId } of ledger.values()) if (jobId === job) count += 1;
  return count;
};
