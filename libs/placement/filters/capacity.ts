import type { Amounts, ClusterNode, Device } from '../cluster/state.js';
import { memoryFor } from '../demand.js';
import type { Demand, GpuDemand } from '../demand.js';
import { gpuMemoryFor, isOfModel, couldHold, hasRoom } from '../gpu.js';
import { formatBytes } from '../units.js';
import { check, fits, must, mustNow, PASS } from './check.js';
import type { Check } from './check.js';
import type { ReasonCode } from './reasons.js';

/**
 * Whether the job fits: "never" when the whole node would be too small, "not now" when what is free is. A job that works
 * in batches fits when its smallest batch does. The offer of the first is the node's whole, of the second what is free.
 */
export const capacityChecks = (demand: Demand): Check[] => {
  const memory = memoryFor(demand, demand.minItems);
  return [
    amount('capacity.cpu', 'cpu', demand.cpu, String(demand.cpu / 1000)),
    amount('capacity.memory', 'memory', memory, formatBytes(memory)),
    ...(demand.disk > 0 ? [amount('capacity.disk', 'disk', demand.disk, formatBytes(demand.disk))] : []),
    ...(demand.ioSlots > 0 ? [amount('capacity.io-slots', 'ioSlots', demand.ioSlots, String(demand.ioSlots))] : []),
    ...(demand.gpu ? gpuChecks(demand.gpu, demand.minItems) : []),
  ];
};

const amount = (code: ReasonCode, key: keyof Amounts, asked: number, text: string): Check =>
  check(
    code,
    text,
    ({ total, used }) => fits(asked, total[key], total[key] - used[key]),
    ({ total, used }) => (asked > total[key] ? total[key] : total[key] - used[key]),
  );

/** Each asks only what the one before has let through, so that one shortage is told once. */
const gpuChecks = (gpu: GpuDemand, items: number): Check[] => {
  const ofModel = (device: Device): boolean => isOfModel(device, gpu);
  const large = (device: Device): boolean => ofModel(device) && couldHold(device, gpu, items);
  const free = (device: Device): boolean => ofModel(device) && hasRoom(device, gpu, items);
  return [
    check(
      'capacity.gpu-count',
      String(gpu.count),
      (node) => must(node.devices.length >= gpu.count),
      (node) => node.devices.length,
    ),
    ...(gpu.models.size > 0 ? [modelCheck(gpu, ofModel)] : []),
    memoryCheck(gpu, items, ofModel, large),
    check(
      'capacity.gpu-free',
      gpu.share < 1000 ? `${gpu.count} × ${gpu.share / 1000}` : String(gpu.count),
      (node) => (count(node, large) < gpu.count ? PASS : mustNow(count(node, free) >= gpu.count)),
      (node) => count(node, free),
    ),
  ];
};

const modelCheck = (gpu: GpuDemand, ofModel: (device: Device) => boolean): Check =>
  check(
    'capacity.gpu-model',
    `${gpu.count} × ${[...gpu.models].join(' or ')}`,
    (node) => (node.devices.length < gpu.count ? PASS : must(count(node, ofModel) >= gpu.count)),
    (node) => [...new Set(node.devices.map(({ model }) => model))].sort().join(', '),
  );

const memoryCheck = (
  gpu: GpuDemand,
  items: number,
  ofModel: (device: Device) => boolean,
  large: (device: Device) => boolean,
): Check => {
  const asked =
    gpu.memory === undefined && gpu.memoryPerItem === 0 ? undefined : formatBytes(gpuMemoryFor(gpu, 0, items));
  return check(
    'capacity.gpu-memory',
    asked,
    (node) => (count(node, ofModel) < gpu.count ? PASS : must(count(node, large) >= gpu.count)),
    (node) => Math.max(0, ...node.devices.filter(ofModel).map(({ memory }) => memory)),
  );
};

const count = ({ devices }: ClusterNode, accepts: (device: Device) => boolean): number => {
  let found = 0;
  for (const device of devices) if (accepts(device)) found += 1;
  return found;
};
