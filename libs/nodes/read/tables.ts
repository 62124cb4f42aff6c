import { boolean, bigint, entityOf, instant, integer, json, nullable, text } from '#read-store';
import type { Instant } from '#kernel';
import type { KeyedTable, LogTable } from '#read-store';
import type { Contract } from '../domain/contract.js';
import type { DrainAnnouncer, ReleaseCause } from '../domain/events.js';
import type { Inventory } from '../domain/inventory.js';
import type { FreeCapacity } from '../domain/ledger.js';
import type { LatencyClass } from '../domain/latency.js';
import type { Policy } from '../domain/policy.js';
import type { Pool } from '../domain/pool.js';

/** What a node is: changes rarely. */
export interface NodeRow {
  readonly id: string;
  readonly name: string;
  readonly owner: string;
  readonly institution: string;
  readonly enrolledAt: Instant;
  readonly inventory: Inventory;
  readonly policy: Policy;
  readonly online: boolean;
  /** Since when it is online or offline. */
  readonly presenceSince: Instant;
  readonly offlineReason: string | null;
  /** The reason of a cordon. */
  readonly cordoned: string | null;
  /** `announcedBy` is absent in rows of old. */
  readonly draining: {
    readonly reason: string;
    readonly deadline?: Instant;
    readonly announcedBy?: DrainAnnouncer;
  } | null;
  /** How far it is from the control plane; `roundTrip` in seconds. */
  readonly latency: { readonly latencyClass: LatencyClass; readonly roundTrip: number } | null;
  /** How many inputs worth counting it keeps for later tasks. */
  readonly cachedInputs: number;
  /** As the newest event of the node has it; of a pool's discipline other nodes may know a newer one. */
  readonly pool: Pool | null;
}

export const nodesTable: KeyedTable<NodeRow> = {
  kind: 'keyed',
  name: 'nodes',
  key: 'id',
  tracked: false,
  columns: {
    id: text,
    name: text,
    owner: text,
    institution: text,
    enrolledAt: instant,
    inventory: json,
    policy: json,
    online: boolean,
    presenceSince: instant,
    offlineReason: nullable(text),
    cordoned: nullable(text),
    draining: nullable(json),
    latency: nullable(json),
    cachedInputs: integer,
    pool: nullable(json),
  },
  indexes: [],
};

/** What is held of a node: changes with every claim, so it is kept apart from what is wide. */
export interface NodeCapacityRow {
  readonly nodeId: string;
  /** Sums over the live claims, in the ledger's whole numbers. */
  readonly reserved: FreeCapacity;
  /** Live claims. */
  readonly held: number;
}

export const nodeCapacityTable: KeyedTable<NodeCapacityRow> = {
  kind: 'keyed',
  name: 'node_capacity',
  key: 'nodeId',
  tracked: true,
  columns: { nodeId: text, reserved: json, held: integer },
  indexes: [],
};

/** One claim in a node's ledger, from reservation to release. */
export interface NodeClaimRow {
  readonly executionId: string;
  readonly nodeId: string;
  readonly jobId: string;
  readonly project: string;
  readonly contract: Contract;
  readonly expiresAt: Instant;
  readonly reservedAt: Instant;
  readonly releasedAt: Instant | null;
  readonly cause: ReleaseCause | null;
}

export const nodeClaimsTable: KeyedTable<NodeClaimRow> = {
  kind: 'keyed',
  name: 'node_claims',
  key: 'executionId',
  tracked: false,
  columns: {
    executionId: text,
    nodeId: text,
    jobId: text,
    project: text,
    contract: json,
    expiresAt: instant,
    reservedAt: instant,
    releasedAt: nullable(instant),
    cause: nullable(text),
  },
  indexes: ['(node_id, reserved_at) WHERE released_at IS NULL', '(project) WHERE released_at IS NULL'],
};

/** One movement of a node, in words; claims have their own table. */
export interface NodeTimelineRow {
  readonly nodeId: string;
  readonly revision: string;
  readonly position: string;
  readonly at: Instant;
  readonly type: string;
  readonly actor: string;
  /** A sentence without its full stop. */
  readonly title: string;
  readonly data: object;
}

export const nodeTimelineTable: LogTable<NodeTimelineRow> = {
  kind: 'log',
  name: 'node_timeline',
  key: ['nodeId', 'revision'],
  columns: {
    nodeId: text,
    revision: bigint,
    position: bigint,
    at: instant,
    type: text,
    actor: text,
    title: text,
    data: json,
  },
  indexes: [],
};

export const nodeEntity = entityOf(nodesTable);
export const nodeCapacityEntity = entityOf(nodeCapacityTable);
export const nodeClaimEntity = entityOf(nodeClaimsTable);
export const nodeTimelineEntity = entityOf(nodeTimelineTable);
