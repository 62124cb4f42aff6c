import { toMilli } from '#kernel';
import type { Contract, Inventory } from '#nodes';
import { nodeChanged } from './columns.js';
import type { Amounts, ClusterNode, ClusterState, Device, Held, ProjectUsage } from './state.js';

/*
 * The books of a node: what is held, by whom, and what that leaves. All sums are of whole numbers, so a release gives
 * back exactly what its reservation took.
 */

/** A reservation on its way: told before its event comes back from the log. */
export interface AssumedReservation {
  readonly executionId: string;
  readonly nodeId: string;
  readonly jobId: string;
  readonly project: string;
  readonly contract: Contract;
}

/**
 * Takes a reservation for granted, as one that its node is still to confirm unless told otherwise. Does nothing when its event was
 * applied already or the node is unknown.
 */
export const assume = (cluster: ClusterState, reservation: AssumedReservation, confirmed = false): void => {
  const node = cluster.nodes.get(reservation.nodeId);
  if (!node || node.ledger.has(reservation.executionId)) return;
  const { executionId, jobId, project, contract } = reservation;
  const held = { executionId, jobId, project, contract, expiresAt: undefined, assumed: true };
  hold(cluster, node, { ...held, confirmed, started: false });
  cluster.assumed.set(executionId, node.id);
};

/** Takes it back, for an append that was refused. Does nothing when the reservation was recorded or never assumed. */
export const unassume = (cluster: ClusterState, executionId: string): void => {
  const node = cluster.nodes.get(cluster.assumed.get(executionId) ?? '');
  cluster.assumed.delete(executionId);
  if (node) letGo(cluster, node, executionId);
};

/** Enters a line in the books; one that was only assumed gives way to it. */
export const hold = (cluster: ClusterState, node: ClusterNode, held: Held): void => {
  letGo(cluster, node, held.executionId);
  cluster.assumed.delete(held.executionId);
  node.ledger.set(held.executionId, held);
  if (!held.confirmed) node.unconfirmed += 1;
  if (!held.started) node.waiting += 1;
  book(cluster, node, held, 1);
};

/** Strikes a line out; one that is not there is no fault (the same release may be told twice). */
export const letGo = (cluster: ClusterState, node: ClusterNode, executionId: string): void => {
  const held = node.ledger.get(executionId);
  if (!held) return;
  node.ledger.delete(executionId);
  if (!held.confirmed) node.unconfirmed -= 1;
  if (!held.started) node.waiting -= 1;
  book(cluster, node, held, -1);
};

/** The line of an execution with another contract, in the same place. */
export const shrink = (cluster: ClusterState, node: ClusterNode, held: Held): void => {
  const before = node.ledger.get(held.executionId);
  if (!before) return;
  book(cluster, node, before, -1);
  node.ledger.set(held.executionId, held);
  book(cluster, node, held, 1);
};

/** The node has confirmed a reservation that it holds. */
export const markConfirmed = (node: ClusterNode, executionId: string): void => {
  const held = node.ledger.get(executionId);
  if (!held || held.confirmed) return;
  held.confirmed = true;
  node.unconfirmed -= 1;
};

/** The task of a held execution has begun to run. */
export const markStarted = (node: ClusterNode, executionId: string): void => {
  const held = node.ledger.get(executionId);
  if (!held || held.started) return;
  held.started = true;
  node.waiting -= 1;
};

const book = (cluster: ClusterState, node: ClusterNode, held: Held, sign: 1 | -1): void => {
  const { contract, project } = held;
  const cpu = sign * toMilli(contract.cpu);
  node.used.cpu += cpu;
  node.used.memory += sign * contract.memory;
  node.used.disk += sign * contract.disk;
  node.used.ioSlots += sign * contract.ioSlots;
  bookDevices(node, contract, sign);
  addTo(node.projectCpu, project, cpu);
  bookProject(cluster, held, sign, cpu);
  bookHolding(cluster, node, held.jobId, sign);
  nodeChanged(cluster, node);
};

const bookHolding = (cluster: ClusterState, node: ClusterNode, jobId: string, sign: 1 | -1): void => {
  const nodes = cluster.holdings.get(jobId) ?? new Map<string, number>();
  addTo(nodes, node.id, sign);
  if (nodes.size === 0) cluster.holdings.delete(jobId);
  else cluster.holdings.set(jobId, nodes);
};

const bookDevices = (node: ClusterNode, contract: Contract, sign: 1 | -1): void => {
  for (const { id, share, memory } of contract.gpus) {
    const device = node.devices.find((candidate) => candidate.id === id);
    if (!device) continue;
    device.usedShare += sign * toMilli(share);
    device.usedMemory += sign * memory;
    node.usedShares += sign * toMilli(share);
  }
};

const bookProject = (cluster: ClusterState, held: Held, sign: 1 | -1, cpu: number): void => {
  const usage = usageOf(cluster, held.project);
  usage.cpu += cpu;
  usage.memory += sign * held.contract.memory;
  for (const { share } of held.contract.gpus) usage.gpus += sign * toMilli(share);
  addTo(usage.jobs, held.jobId, sign);
  if (usage.jobs.size === 0) cluster.usage.delete(held.project);
};

const usageOf = (cluster: ClusterState, project: string): ProjectUsage => {
  const known = cluster.usage.get(project);
  if (known) return known;
  const usage: ProjectUsage = { cpu: 0, memory: 0, gpus: 0, jobs: new Map() };
  cluster.usage.set(project, usage);
  return usage;
};

/** Entries at zero are removed, so that equal books are equal whatever happened before. */
const addTo = (sums: Map<string, number>, key: string, amount: number): void => {
  const sum = (sums.get(key) ?? 0) + amount;
  if (sum === 0) sums.delete(key);
  else sums.set(key, sum);
};

export const totalsOf = (inventory: Inventory): Amounts => ({
  cpu: toMilli(inventory.cpu),
  memory: inventory.memory,
  disk: inventory.disk,
  ioSlots: inventory.ioSlots,
});

/** The devices of an inventory with what the ledger holds of them; a held device that is gone counts nowhere. */
export const devicesOf = (inventory: Inventory, ledger: ReadonlyMap<string, Held>): Device[] => {
  const devices = inventory.gpus.map(({ id, model, memory }) => ({
    id,
    model,
    modelKey: model.toLowerCase(),
    memory,
    usedShare: 0,
    usedMemory: 0,
  }));
  const byId = new Map(devices.map((device) => [device.id, device]));
  for (const { contract } of ledger.values())
    for (const { id, share, memory } of contract.gpus) {
      const device = byId.get(id);
      if (!device) continue;
      device.usedShare += toMilli(share);
      device.usedMemory += memory;
    }
  return devices;
};
