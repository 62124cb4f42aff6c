import type { Instant } from '#kernel';
import type { Contract } from './contract.js';
import type { Inventory } from './inventory.js';
import type { LatencyClass } from './latency.js';
import type { Policy } from './policy.js';
import type { Pool } from './pool.js';

/** Everything that is ever stored in a `node-<id>` stream. Stored events are forever: add, never change. */
export type NodeEvent =
  | NodeEnrolled
  | NodeInventoryChanged
  | NodePolicyChanged
  | NodeWentOnline
  | NodeWentOffline
  | NodeCordoned
  | NodeUncordoned
  | NodeDrainStarted
  | NodeLatencyChanged
  | NodeCacheChanged
  | NodePoolChanged
  | CapacityReserved
  | CapacityReduced
  | CapacityReleased;

export interface NodeEnrolled {
  readonly type: 'NodeEnrolled';
  readonly data: {
    readonly nodeId: string;
    readonly name: string;
    /** The account that owns the machine. */
    readonly owner: string;
    readonly institution: string;
    readonly inventory: Inventory;
    readonly policy: Policy;
    readonly at: Instant;
  };
}

export interface NodeInventoryChanged {
  readonly type: 'NodeInventoryChanged';
  readonly data: { readonly inventory: Inventory; readonly at: Instant };
}

export interface NodePolicyChanged {
  readonly type: 'NodePolicyChanged';
  readonly data: { readonly policy: Policy; readonly at: Instant };
}

export interface NodeWentOnline {
  readonly type: 'NodeWentOnline';
  readonly data: { readonly at: Instant };
}

/** Silent for longer than the heartbeat grace. `lastSeenAt` is the last message that arrived. */
export interface NodeWentOffline {
  readonly type: 'NodeWentOffline';
  readonly data: { readonly lastSeenAt: Instant; readonly reason: string; readonly at: Instant };
}

/** Takes no new work; what runs goes on. */
export interface NodeCordoned {
  readonly type: 'NodeCordoned';
  readonly data: { readonly reason: string; readonly at: Instant };
}

/** Takes work again: ends a cordon or a drain. */
export interface NodeUncordoned {
  readonly type: 'NodeUncordoned';
  readonly data: { readonly at: Instant };
}

/** Takes no new work, and what still runs at `deadline` (if any) is stopped and goes elsewhere. */
export interface NodeDrainStarted {
  readonly type: 'NodeDrainStarted';
  readonly data: {
    readonly reason: string;
    readonly deadline?: Instant;
    /** Absent in events of old, of which the reason tells it: see `announcerOf`. */
    readonly announcedBy?: DrainAnnouncer;
    readonly at: Instant;
  };
}

/** Who wants a node empty: its agent, which ends and may come back, or an operator, who says when it is over. */
export type DrainAnnouncer = 'agent' | 'operator';

/**
 * The node is nearer or further than it was, by class. `roundTrip` is the typical one that its agent measured, in seconds.
 */
export interface NodeLatencyChanged {
  readonly type: 'NodeLatencyChanged';
  readonly data: { readonly latencyClass: LatencyClass; readonly roundTrip: number; readonly at: Instant };
}

/**
 * The node keeps other content for later tasks than it did, by what its agent says of its cache: digests (sha256, 64
 * hexadecimal digits), together at most `MOST_CACHED`. Small content is not told of.
 */
export interface NodeCacheChanged {
  readonly type: 'NodeCacheChanged';
  readonly data: { readonly added: readonly string[]; readonly removed: readonly string[]; readonly at: Instant };
}

/**
 * The node belongs to another pool than before, to none (`null`), or its pool has another discipline: that of a pool is the one
 * in the newest event that names it.
 */
export interface NodePoolChanged {
  readonly type: 'NodePoolChanged';
  readonly data: { readonly pool: Pool | null; readonly at: Instant };
}

/** A part of the node is held for one execution. `expiresAt` is the job side's `confirmBy`. */
export interface CapacityReserved {
  readonly type: 'CapacityReserved';
  readonly data: {
    readonly executionId: string;
    readonly jobId: string;
    readonly project: string;
    readonly contract: Contract;
    readonly expiresAt: Instant;
    readonly at: Instant;
  };
}

/**
 * Less is held for the execution from here on, in no part more: its node confirmed with a smaller contract. The whole of
 * `contract` is what is still held.
 */
export interface CapacityReduced {
  readonly type: 'CapacityReduced';
  readonly data: { readonly executionId: string; readonly contract: Contract; readonly at: Instant };
}

/** Why a held part was given back. */
export type ReleaseCause =
  | 'succeeded'
  | 'failed'
  | 'lost'
  | 'cancelled'
  | 'expired'
  | 'declined'
  | 'superseded' /* another scheduler was first on the job's stream */
  | 'abandoned'; /* the scheduler died between the node's append and the job's */

/** Follows each CapacityReserved exactly once, whatever the end. */
export interface CapacityReleased {
  readonly type: 'CapacityReleased';
  readonly data: { readonly executionId: string; readonly cause: ReleaseCause; readonly at: Instant };
}

/** The stream of a node. */
export const nodeStream = (nodeId: string): string => `node-${nodeId}`;
export const NODE_STREAM_PREFIX = 'node-';
