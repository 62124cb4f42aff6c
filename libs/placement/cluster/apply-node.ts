import { toMillis } from '#kernel';
import type { Millis } from '#kernel';
import type { CapacityReduced, CapacityReserved, NodeCacheChanged, NodeEnrolled, NodeEvent } from '#nodes';
import { nodeChanged } from './columns.js';
import { factsOf } from './facts.js';
import { recordClaim } from './fair-share.js';
import { devicesOf, hold, letGo, shrink, totalsOf } from './ledger.js';
import { poolChanged } from './pools.js';
import { noRefusals } from './refusals.js';
import type { ClusterNode, ClusterState } from './state.js';
import { emptyRecord, noOutage } from './track-record.js';
import { emptyUptime, presenceChanged } from './uptime.js';

/** Events of a node that never enrolled are passed over: nothing can be placed on what is unknown. */
export const applyNodeEvent = (cluster: ClusterState, nodeId: string, revision: bigint, event: NodeEvent): void => {
  const node = cluster.nodes.get(nodeId);
  if (node && revision <= node.revision) return;
  if (node) {
    node.revision = revision;
    change(cluster, node, event);
    nodeChanged(cluster, node);
  } else if (event.type === 'NodeEnrolled') {
    const enrolledNode = enrolled(nodeId, revision, event.data);
    cluster.nodes.set(nodeId, enrolledNode);
    countIn(cluster, enrolledNode, 1);
    nodeChanged(cluster, enrolledNode);
  }
};

const enrolled = (id: string, revision: bigint, data: NodeEnrolled['data']): ClusterNode => ({
  id,
  name: data.name,
  owner: data.owner,
  institution: data.institution,
  inventory: data.inventory,
  policy: data.policy,
  facts: factsOf({ ...data, id }, data.inventory, data.policy),
  enrolledAt: data.at,
  online: false,
  since: data.at,
  lastSeenAt: undefined,
  cordon: undefined,
  drain: undefined,
  latencyClass: undefined,
  pool: undefined,
  revision,
  total: totalsOf(data.inventory),
  used: { cpu: 0, memory: 0, disk: 0, ioSlots: 0 },
  devices: devicesOf(data.inventory, new Map()),
  usedShares: 0,
  ledger: new Map(),
  unconfirmed: 0,
  waiting: 0,
  projectCpu: new Map(),
  record: emptyRecord(),
  applicationRecords: new Map(),
  outage: noOutage(),
  refusals: noRefusals(),
  uptime: emptyUptime(toMillis(data.at)),
  cached: undefined,
  inputs: new Set(),
});

/** The node's part of what all nodes have together. */
export const countIn = ({ capacity }: ClusterState, { total, devices }: ClusterNode, sign: 1 | -1): void => {
  capacity.cpu += sign * total.cpu;
  capacity.memory += sign * total.memory;
  capacity.gpus += sign * 1000 * devices.length;
};

// eslint-disable-next-line max-lines-per-function -- one case for each member of the union
const change = (cluster: ClusterState, node: ClusterNode, event: NodeEvent): void => {
  switch (event.type) {
    case 'NodeEnrolled':
      return enrolledAgain(cluster, node, event.data);
    case 'NodeInventoryChanged':
      return inventoryChanged(cluster, node, event.data.inventory);
    case 'NodePolicyChanged':
      node.policy = event.data.policy;
      return refreshFacts(node);
    case 'NodeWentOnline':
      node.outage = noOutage();
      node.lastSeenAt = event.data.at;
      return presence(node, true, event.data.at);
    case 'NodeWentOffline':
      node.lastSeenAt = event.data.lastSeenAt;
      return presence(node, false, event.data.at);
    case 'NodeCordoned':
      node.cordon = { reason: event.data.reason };
      return;
    case 'NodeUncordoned':
      node.cordon = undefined;
      node.drain = undefined;
      return;
    case 'NodeDrainStarted':
      node.drain = { reason: event.data.reason, deadline: event.data.deadline };
      return;
    case 'NodeLatencyChanged':
      node.latencyClass = event.data.latencyClass;
      return;
    case 'NodeCacheChanged':
      return cacheChanged(node, event.data);
    case 'NodePoolChanged':
      return poolChanged(cluster, node, event.data.pool);
    case 'CapacityReserved':
      return claimed(cluster, node, event.data);
    case 'CapacityReduced':
      return reduced(cluster, node, event.data);
    case 'CapacityReleased':
      return released(cluster, node, event.data.executionId, toMillis(event.data.at));
    default:
      return ignored(event);
  }
};

/** Newer writers may store types that this version does not know; `never` keeps the known ones complete. */
const ignored = (_event: never): void => undefined;

const claimed = (cluster: ClusterState, node: ClusterNode, { at, ...claim }: CapacityReserved['data']): void => {
  recordClaim(cluster, claim.project, claim.contract, 1, toMillis(at));
  hold(cluster, node, { ...claim, assumed: false, confirmed: false, started: false });
};

const reduced = (cluster: ClusterState, node: ClusterNode, data: CapacityReduced['data']): void => {
  const { executionId, contract, at } = data;
  const held = node.ledger.get(executionId);
  if (!held) return;
  recordClaim(cluster, held.project, held.contract, -1, toMillis(at));
  recordClaim(cluster, held.project, contract, 1, toMillis(at));
  shrink(cluster, node, { ...held, contract });
};

const released = (cluster: ClusterState, node: ClusterNode, executionId: string, at: Millis): void => {
  const held = node.ledger.get(executionId);
  if (held && !held.assumed) recordClaim(cluster, held.project, held.contract, -1, at);
  cluster.assumed.delete(executionId);
  letGo(cluster, node, executionId);
};

const enrolledAgain = (cluster: ClusterState, node: ClusterNode, data: NodeEnrolled['data']): void => {
  node.name = data.name;
  node.owner = data.owner;
  node.institution = data.institution;
  node.policy = data.policy;
  inventoryChanged(cluster, node, data.inventory);
};

const inventoryChanged = (cluster: ClusterState, node: ClusterNode, inventory: ClusterNode['inventory']): void => {
  countIn(cluster, node, -1);
  node.inventory = inventory;
  Object.assign(node.total, totalsOf(inventory));
  node.devices = devicesOf(inventory, node.ledger);
  node.usedShares = node.devices.reduce((sum, device) => sum + device.usedShare, 0);
  countIn(cluster, node, 1);
  refreshFacts(node);
};

const cacheChanged = (node: ClusterNode, { added, removed }: NodeCacheChanged['data']): void => {
  node.cached ??= new Set();
  for (const digest of removed) node.cached.delete(digest);
  for (const digest of added) node.cached.add(digest);
};

const refreshFacts = (node: ClusterNode): void => {
  node.facts = factsOf(node, node.inventory, node.policy);
};

const presence = (node: ClusterNode, online: boolean, at: string): void => {
  if (node.online !== online) node.since = at;
  node.online = online;
  presenceChanged(node.uptime, online, toMillis(at));
};
