import { unreachable } from '#kernel';
import type { CapacityReduced, CapacityReserved, NodeEnrolled, NodeEvent } from './events.js';
import { changedCache } from './cache.js';
import { announcerOf } from './draining.js';
import type { NodeState } from './state.js';

/** Folds one event into the node's state. Total: a history that was stored is never refused. */
export const evolve = (node: NodeState, event: NodeEvent): NodeState => {
  switch (event.type) {
    case 'NodeEnrolled':
      return enrolled(node, event.data);
    case 'NodeInventoryChanged':
      return { ...node, inventory: event.data.inventory };
    case 'NodePolicyChanged':
      return { ...node, policy: event.data.policy };
    case 'NodeWentOnline':
      return { ...node, online: true };
    case 'NodeWentOffline':
      return { ...node, online: false };
    case 'NodeCordoned':
      return { ...node, cordoned: event.data.reason };
    case 'NodeUncordoned':
      return { ...node, cordoned: undefined, draining: undefined };
    case 'NodeDrainStarted': {
      const { reason, deadline } = event.data;
      const announcedBy = announcerOf(event.data);
      return { ...node, draining: { reason, ...(deadline !== undefined && { deadline }), announcedBy } };
    }
    case 'NodeLatencyChanged':
      return { ...node, latencyClass: event.data.latencyClass };
    case 'NodeCacheChanged': {
      const { added, removed, at } = event.data;
      return { ...node, cached: changedCache(node.cached, added, removed), cacheReportedAt: at };
    }
    case 'NodePoolChanged':
      return { ...node, pool: event.data.pool ?? undefined };
    case 'CapacityReserved':
      return reserved(node, event.data);
    case 'CapacityReduced':
      return reduced(node, event.data);
    case 'CapacityReleased': {
      const { [event.data.executionId]: _released, ...held } = node.held;
      return { ...node, held };
    }
    default:
      return unreachable(event);
  }
};

const enrolled = (node: NodeState, { at: _at, ...identity }: NodeEnrolled['data']): NodeState => ({
  ...node,
  ...identity,
  exists: true,
});

const reserved = (node: NodeState, { at: _at, ...held }: CapacityReserved['data']): NodeState => ({
  ...node,
  held: { ...node.held, [held.executionId]: held },
});

const reduced = (node: NodeState, { executionId, contract }: CapacityReduced['data']): NodeState => {
  const held = node.held[executionId];
  return held ? { ...node, held: { ...node.held, [executionId]: { ...held, contract } } } : node;
};
