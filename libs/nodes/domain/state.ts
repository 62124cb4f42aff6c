import type { Instant } from '#kernel';
import type { Contract } from './contract.js';
import type { DrainAnnouncer } from './events.js';
import type { Inventory } from './inventory.js';
import type { LatencyClass } from './latency.js';
import type { Policy } from './policy.js';
import type { Pool } from './pool.js';

/** A part of the node that is held for one execution. */
export interface HeldCapacity {
  readonly executionId: string;
  readonly jobId: string;
  readonly project: string;
  readonly contract: Contract;
  readonly expiresAt: string;
}

export interface NodeState {
  readonly exists: boolean;
  readonly nodeId: string;
  readonly name: string;
  readonly owner: string;
  readonly institution: string;
  readonly inventory: Inventory;
  readonly policy: Policy;
  readonly online: boolean;
  readonly cordoned: string | undefined;
  readonly draining:
    { readonly reason: string; readonly deadline?: string; readonly announcedBy: DrainAnnouncer } | undefined;
  /** Absent until it is known. */
  readonly latencyClass: LatencyClass | undefined;
  /** Digests of the content that it keeps, as it said at `cacheReportedAt`. */
  readonly cached: ReadonlySet<string>;
  readonly cacheReportedAt: Instant | undefined;
  readonly pool: Pool | undefined;
  readonly held: Readonly<Record<string, HeldCapacity>>;
}

const NOTHING: Inventory = {
  os: '',
  architecture: '',
  cpu: 0,
  memory: 0,
  disk: 0,
  ioSlots: 0,
  gpus: [],
  applications: [],
  packages: [],
  labels: {},
};

export const absentNode = (): NodeState => ({
  exists: false,
  nodeId: '',
  name: '',
  owner: '',
  institution: '',
  inventory: NOTHING,
  policy: {},
  online: false,
  cordoned: undefined,
  draining: undefined,
  latencyClass: undefined,
  cached: new Set(),
  cacheReportedAt: undefined,
  pool: undefined,
  held: {},
});
