import type { Instant } from '#kernel';
import type { Contract } from './contract.js';
import type { ReleaseCause } from './events.js';
import type { Inventory } from './inventory.js';
import type { Policy } from './policy.js';
import type { Pool } from './pool.js';

export type NodeCommand =
  | EnrollNode
  | ChangeInventory
  | ChangePolicy
  | MarkOnline
  | MarkOffline
  | CordonNode
  | UncordonNode
  | DrainNode
  | AnnounceStop
  | ReportLatency
  | ReportCache
  | ChangePool
  | ReserveCapacity
  | ReduceCapacity
  | ReleaseCapacity;

/** `returning`: the caller proved that it is this node, so a taken name is its own. */
export interface EnrollNode {
  readonly type: 'EnrollNode';
  readonly nodeId: string;
  readonly name: string;
  readonly owner: string;
  readonly institution: string;
  readonly inventory: Inventory;
  readonly policy?: Policy;
  readonly returning: boolean;
  readonly at: Instant;
}

export interface ChangeInventory {
  readonly type: 'ChangeInventory';
  readonly inventory: Inventory;
  readonly at: Instant;
}

export interface ChangePolicy {
  readonly type: 'ChangePolicy';
  readonly policy: Policy;
  readonly at: Instant;
}

export interface MarkOnline {
  readonly type: 'MarkOnline';
  readonly at: Instant;
}

export interface MarkOffline {
  readonly type: 'MarkOffline';
  readonly lastSeenAt: Instant;
  readonly reason: string;
  readonly at: Instant;
}

export interface CordonNode {
  readonly type: 'CordonNode';
  readonly reason: string;
  readonly at: Instant;
}

export interface UncordonNode {
  readonly type: 'UncordonNode';
  readonly at: Instant;
}

export interface DrainNode {
  readonly type: 'DrainNode';
  readonly reason: string;
  readonly deadline?: Instant;
  readonly at: Instant;
}

/** The node's agent was told to end: nothing new for the node until it enrols again. */
export interface AnnounceStop {
  readonly type: 'AnnounceStop';
  readonly at: Instant;
}

/** `roundTrip` in seconds, the typical one of the last heartbeats. */
export interface ReportLatency {
  readonly type: 'ReportLatency';
  readonly roundTrip: number;
  readonly at: Instant;
}

/** `held`: digests of all content that the agent keeps and tells of, at most `MOST_CACHED`. */
export interface ReportCache {
  readonly type: 'ReportCache';
  readonly held: readonly string[];
  readonly at: Instant;
}

/** `null`: in no pool. `from`: only a node of this pool is meant, so that one which has joined another stays there. */
export interface ChangePool {
  readonly type: 'ChangePool';
  readonly pool: Pool | null;
  readonly from?: string;
  readonly at: Instant;
}

export interface ReserveCapacity {
  readonly type: 'ReserveCapacity';
  readonly executionId: string;
  readonly jobId: string;
  readonly project: string;
  readonly contract: Contract;
  readonly expiresAt: Instant;
  readonly at: Instant;
}

/** `contract` is all that shall still be held. */
export interface ReduceCapacity {
  readonly type: 'ReduceCapacity';
  readonly executionId: string;
  readonly contract: Contract;
  readonly at: Instant;
}

export interface ReleaseCapacity {
  readonly type: 'ReleaseCapacity';
  readonly executionId: string;
  readonly cause: ReleaseCause;
  readonly at: Instant;
}
