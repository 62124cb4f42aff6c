import { itemsOn, memoryFor } from '#governor/budget';
import type { JobMix } from '../cluster/mix.js';
import type { ClusterNode } from '../cluster/state.js';
import { demandOf } from '../demand.js';
import type { Demand } from '../demand.js';
import { chooseDevices } from '../devices.js';
import type { PlacementRequest } from '../request.js';
import { conserved, CONSERVED_STEP } from './fragmentation.js';
import type { Measure } from './factors.js';
import type { Strategy } from './profiles.js';

type Mix = Pick<JobMix, 'typical'>;

/** What a node with GPUs keeps of its value for a job that uses none: such jobs belong elsewhere while there is room. */
const GPU_NODE_WITHOUT_GPU_JOB = 0.25;

/**
 * Resources, from the node's inventory and ledger and from the mix of jobs that arrive. The value is in 0…1.
 *
 * - Packing on a node with GPUs: raw is the growth of the node's fragmentation with the contract on it, in GPUs (see
 *   `fragmentation`). The value falls with it in hundredths, ½ for none; what is finer than a hundredth is filled by the
 *   fit: the less stays free, the better. For a job without GPUs a quarter of that.
 * - Packing on a node without GPUs: raw in 0…1 is how full the node is once the contract is on it, the mean over what the
 *   job asks for (CPU, memory, disk, I/O slots). The value goes with it from ¼ to 1, so that such a node comes before any
 *   with GPUs.
 * - Spreading: raw is how full the node would be, its GPU shares too; the value is the rest, divided by how many executions
 *   of the same job are there already, and a quarter of that on a node with GPUs for a job without.
 */
export const resources = (node: ClusterNode, request: PlacementRequest, strategy: Strategy, mix: Mix): Measure => {
  const demand = demandOf(request.spec);
  if (strategy === 'pack' && node.devices.length > 0) return knownPacking(node, demand, mix);
  const raw = fullness(node, demand);
  if (strategy === 'pack') return { raw, value: GPU_NODE_WITHOUT_GPU_JOB + (1 - GPU_NODE_WITHOUT_GPU_JOB) * raw };
  return { raw, value: ((1 - raw) / (1 + instancesOn(node, request.jobId))) * partFor(node, demand) };
};

const partFor = ({ devices }: ClusterNode, { gpu }: Demand): number =>
  devices.length > 0 && !gpu ? GPU_NODE_WITHOUT_GPU_JOB : 1;

const fullness = (node: ClusterNode, demand: Demand): number => {
  const { total, used, devices, usedShares } = node;
  let sum = 0;
  let dimensions = 0;
  const add = (asked: number, held: number, all: number): void => {
    if (asked <= 0 || all <= 0) return;
    sum += Math.min(1, (held + asked) / all);
    dimensions += 1;
  };
  add(demand.cpu, used.cpu, total.cpu);
  add(memoryFor(demand, itemsOn(demand, node)), used.memory, total.memory);
  add(demand.disk, used.disk, total.disk);
  add(demand.ioSlots, used.ioSlots, total.ioSlots);
  if (demand.gpu) add(demand.gpu.count * demand.gpu.share, usedShares, devices.length * 1000);
  return dimensions === 0 ? 0 : sum / dimensions;
};

const instancesOn = ({ ledger }: ClusterNode, job: string): number => {
  let count = 0;
  for (const { jobId } of ledger.values()) if (jobId === job) count += 1;
  return count;
};

const NO_ROOM: Measure = { raw: 0, value: 0 };

const packing = (node: ClusterNode, demand: Demand, mix: Mix): Measure => {
  const choice = chooseDevices(node, demand, itemsOn(demand, node), mix);
  if (!choice) return NO_ROOM;
  const value = conserved(choice.grown) + CONSERVED_STEP * FINE * fit(node, demand);
  // Adding 0 makes -0 a 0, as which it would come back from the record.
  return { raw: Math.round(choice.grown * 1000) / 1e6 + 0, value: value * partFor(node, demand) };
};

/** Less than 1, so that the best fit never makes up for a step. */
const FINE = 0.9;

/** In 0…1: how little stays free, half of it for the GPUs (½ with one left), half for the cores (½ with sixteen left). */
const fit = ({ total, used, devices, usedShares }: ClusterNode, { cpu, gpu }: Demand): number => {
  const shares = devices.length * 1000 - usedShares - (gpu ? gpu.count * gpu.share : 0);
  const cores = total.cpu - used.cpu - cpu;
  return 0.5 / (1 + Math.max(0, shares) / 1000) + 0.5 / (1 + Math.max(0, cores) / 16_000);
};

/*
 * What was found for a node and a demand stands, until the next picture of the mix, for every node in the same state and every
 * equal demand: a cluster has far fewer states than nodes and moments.
 */

const MOST_REMEMBERED = 200_000;

interface Remembered {
  readonly byDemand: Map<string, Map<string, Measure>>;
  size: number;
}
const remembered = new WeakMap<Mix['typical'], Remembered>();

const knownPacking = (node: ClusterNode, demand: Demand, mix: Mix): Measure => {
  const { typical } = mix;
  let known = remembered.get(typical);
  if (!known || known.size >= MOST_REMEMBERED) remembered.set(typical, (known = { byDemand: new Map(), size: 0 }));
  const asked = askedOf(demand);
  const byState = known.byDemand.get(asked) ?? new Map<string, Measure>();
  if (byState.size === 0) known.byDemand.set(asked, byState);
  const state = stateOf(node);
  let found = byState.get(state);
  if (!found) {
    found = packing(node, demand, mix);
    byState.set(state, found);
    known.size += 1;
  }
  return found;
};

const texts = new WeakMap<Demand, string>();

/** All that packing reads of a demand, as a text. */
const askedOf = (demand: Demand): string => {
  const known = texts.get(demand);
  if (known !== undefined) return known;
  const { cpu, memory, memoryPerItem, minItems, maxItems, batched, gpu } = demand;
  const asked = JSON.stringify([
    [cpu, memory, memoryPerItem, minItems, maxItems, batched],
    gpu && [gpu.count, gpu.share, gpu.memory ?? null, gpu.memoryPerItem, ...gpu.models],
  ]);
  texts.set(demand, asked);
  return asked;
};

interface NodeState {
  readonly key: string;
  readonly numbers: Float64Array;
}
const states = new WeakMap<ClusterNode['devices'], NodeState>();

/** All that packing reads of a node, as a text; told anew only when a number of it changed. */
const stateOf = (node: ClusterNode): string => {
  const known = states.get(node.devices);
  if (known && same(node, known.numbers)) return known.key;
  const numbers = numbersOf(node);
  const devices = node.devices.map(
    ({ modelKey, memory, usedShare, usedMemory }) => `${modelKey} ${memory} ${usedShare} ${usedMemory}`,
  );
  const key = `${numbers[0]} ${numbers[1]} ${devices.sort().join(' ')}`;
  states.set(node.devices, { key, numbers });
  return key;
};

const numbersOf = ({ total, used, devices }: ClusterNode): Float64Array =>
  Float64Array.from([
    total.cpu - used.cpu,
    total.memory - used.memory,
    ...devices.flatMap(({ usedShare, usedMemory }) => [usedShare, usedMemory]),
  ]);

const same = ({ total, used, devices }: ClusterNode, numbers: Float64Array): boolean => {
  if (numbers[0] !== total.cpu - used.cpu || numbers[1] !== total.memory - used.memory) return false;
  let at = 2;
  for (const { usedShare, usedMemory } of devices) {
    if (numbers[at] !== usedShare || numbers[at + 1] !== usedMemory) return false;
    at += 2;
  }
  return true;
};
