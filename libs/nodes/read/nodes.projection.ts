import { upcastRecorded } from '#contracts';
import { announcerOf } from '../domain/draining.js';
import { NODE_STREAM_PREFIX } from '../domain/events.js';
import { NOTHING_HELD, withContract } from './capacity.js';
import { nodeCapacityTable, nodeClaimsTable, nodeTimelineTable, nodesTable } from './tables.js';
import type { RecordedEvent } from '#event-store';
import type { Projection, RowReference, Rows } from '#read-store';
import type {
  CapacityReduced,
  CapacityReleased,
  CapacityReserved,
  NodeCacheChanged,
  NodeEnrolled,
  NodeEvent,
  NodePoolChanged,
} from '../domain/events.js';
import type { NodeClaimRow, NodeRow } from './tables.js';

/** The compiler refuses a type that is missing here. */
const EVENT_TYPES: Readonly<Record<NodeEvent['type'], true>> = {
  NodeEnrolled: true,
  NodeInventoryChanged: true,
  NodePolicyChanged: true,
  NodeWentOnline: true,
  NodeWentOffline: true,
  NodeCordoned: true,
  NodeUncordoned: true,
  NodeDrainStarted: true,
  NodeLatencyChanged: true,
  NodeCacheChanged: true,
  NodePoolChanged: true,
  CapacityReserved: true,
  CapacityReduced: true,
  CapacityReleased: true,
};

/** What happens to the node itself, as opposed to claims on it. */
type Movement = Exclude<NodeEvent, CapacityReserved | CapacityReduced | CapacityReleased>;

const nodeIdOf = (stream: string): string => stream.slice(NODE_STREAM_PREFIX.length);

const touches = ({ stream, data }: RecordedEvent): readonly RowReference[] => {
  const { executionId } = data as { readonly executionId?: string };
  return [executionId === undefined ? [nodesTable, nodeIdOf(stream)] : [nodeClaimsTable, executionId]];
};

const project = (recorded: RecordedEvent, rows: Rows): void => {
  const event = upcastRecorded(recorded) as NodeEvent;
  const nodeId = nodeIdOf(recorded.stream);
  if (!rows.get(nodeCapacityTable, nodeId)) {
    rows.put(nodeCapacityTable, { nodeId, reserved: NOTHING_HELD, held: 0 });
  }
  switch (event.type) {
    case 'CapacityReserved':
      return claim(rows, nodeId, event.data);
    case 'CapacityReduced':
      return reduce(rows, nodeId, event.data);
    case 'CapacityReleased':
      return release(rows, nodeId, event.data);
    default:
      return move(rows, nodeId, event, recorded);
  }
};

const claim = (rows: Rows, nodeId: string, { at, ...data }: CapacityReserved['data']): void => {
  const before = rows.get(nodeClaimsTable, data.executionId);
  if (isHeld(before) && before.nodeId === nodeId) weigh(rows, before, -1);
  const row = { ...data, nodeId, reservedAt: at, releasedAt: null, cause: null };
  rows.put(nodeClaimsTable, row);
  weigh(rows, row, 1);
};

const reduce = (rows: Rows, nodeId: string, { executionId, contract }: CapacityReduced['data']): void => {
  const before = rows.get(nodeClaimsTable, executionId);
  if (!isHeld(before) || before.nodeId !== nodeId) return;
  const row = { ...before, contract };
  rows.put(nodeClaimsTable, row);
  weigh(rows, before, -1);
  weigh(rows, row, 1);
};

const release = (rows: Rows, nodeId: string, { executionId, cause, at }: CapacityReleased['data']): void => {
  const before = rows.get(nodeClaimsTable, executionId);
  if (!isHeld(before) || before.nodeId !== nodeId) return;
  rows.put(nodeClaimsTable, { ...before, releasedAt: at, cause });
  weigh(rows, before, -1);
};

const isHeld = (row: NodeClaimRow | undefined): row is NodeClaimRow => row?.releasedAt === null;

/** Adds a claim to its node's sums, or takes it away. */
const weigh = (rows: Rows, { nodeId, contract }: NodeClaimRow, sign: 1 | -1): void => {
  const row = rows.get(nodeCapacityTable, nodeId);
  if (!row) return;
  rows.put(nodeCapacityTable, {
    ...row,
    reserved: withContract(row.reserved, contract, sign),
    held: row.held + sign,
  });
};

const move = (rows: Rows, nodeId: string, event: Movement, recorded: RecordedEvent): void => {
  const row = evolveNode(rows.get(nodesTable, nodeId), event);
  if (row) rows.put(nodesTable, row);
  rows.append(nodeTimelineTable, {
    nodeId,
    revision: recorded.revision.toString(),
    position: recorded.position.toString(),
    at: event.data.at,
    type: event.type,
    actor: recorded.metadata.actor,
    title: titleOf(event),
    data: event.type === 'NodeCacheChanged' ? inNumbers(event.data) : event.data,
  });
};

/** Hundreds of digests are for whoever reads the events. */
const inNumbers = ({ added, removed, at }: NodeCacheChanged['data']): object => ({
  added: added.length,
  removed: removed.length,
  at,
});

const evolveNode = (row: NodeRow | undefined, event: Movement): NodeRow | undefined => {
  if (event.type === 'NodeEnrolled') return enrolled(row, event.data);
  if (!row) return undefined;
  switch (event.type) {
    case 'NodeInventoryChanged':
      return { ...row, inventory: event.data.inventory };
    case 'NodePolicyChanged':
      return { ...row, policy: event.data.policy };
    case 'NodeWentOnline':
      return { ...row, online: true, presenceSince: event.data.at, offlineReason: null };
    case 'NodeWentOffline':
      return { ...row, online: false, presenceSince: event.data.at, offlineReason: event.data.reason };
    case 'NodeCordoned':
      return { ...row, cordoned: event.data.reason };
    case 'NodeLatencyChanged': {
      const { latencyClass, roundTrip } = event.data;
      return { ...row, latency: { latencyClass, roundTrip } };
    }
    case 'NodeCacheChanged':
      return { ...row, cachedInputs: row.cachedInputs + event.data.added.length - event.data.removed.length };
    case 'NodePoolChanged':
      return { ...row, pool: event.data.pool };
    case 'NodeUncordoned':
      return { ...row, cordoned: null, draining: null };
    case 'NodeDrainStarted': {
      const { reason, deadline } = event.data;
      const announcedBy = announcerOf(event.data);
      return { ...row, draining: { reason, ...(deadline !== undefined && { deadline }), announcedBy } };
    }
  }
};

const enrolled = (row: NodeRow | undefined, data: NodeEnrolled['data']): NodeRow => {
  const { nodeId: id, name, owner, institution, inventory, policy, at } = data;
  const identity = { id, name, owner, institution, inventory, policy };
  if (row) return { ...row, ...identity };
  const presence = { online: false, presenceSince: at, offlineReason: null };
  const rest = { cordoned: null, draining: null, latency: null, cachedInputs: 0, pool: null };
  return { ...identity, ...presence, enrolledAt: at, ...rest };
};

const cacheTitle = (added: number, removed: number): string =>
  `Keeps ${added} more ${added === 1 ? 'input' : 'inputs'}, ${removed} fewer`;

const poolTitle = (pool: NodePoolChanged['data']['pool']): string =>
  pool === null ? 'Belongs to no pool' : `Belongs to pool ${pool.name}, ${pool.discipline}`;

const titleOf = (event: Movement): string => {
  switch (event.type) {
    case 'NodeEnrolled':
      return `Enrolled for ${event.data.owner} of ${event.data.institution}`;
    case 'NodeInventoryChanged':
      return 'The inventory changed';
    case 'NodePolicyChanged':
      return 'The owner changed the policy';
    case 'NodeWentOnline':
      return 'Came online';
    case 'NodeWentOffline':
      return `Went offline: ${event.data.reason}`;
    case 'NodeCordoned':
      return `Takes no new work: ${event.data.reason}`;
    case 'NodeUncordoned':
      return 'Takes work again';
    case 'NodeLatencyChanged':
      return `Is ${event.data.latencyClass}: ${Math.round(event.data.roundTrip * 1000)} ms to the control plane`;
    case 'NodeCacheChanged':
      return cacheTitle(event.data.added.length, event.data.removed.length);
    case 'NodePoolChanged':
      return poolTitle(event.data.pool);
    case 'NodeDrainStarted':
      return `Drains${event.data.deadline === undefined ? '' : ` until ${event.data.deadline}`}: ${event.data.reason}`;
  }
};

/** Nodes, what is held of each, the claims, and the nodes' movements. */
export const nodesProjection: Projection = {
  name: 'nodes',
  version: 4,
  prefixes: [NODE_STREAM_PREFIX],
  eventTypes: new Set(Object.keys(EVENT_TYPES)),
  main: nodeCapacityTable,
  tables: [nodesTable, nodeCapacityTable, nodeClaimsTable, nodeTimelineTable],
  keyOf: nodeIdOf,
  touches,
  project,
};
