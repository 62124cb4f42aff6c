import { And, In, IsNull, MoreThan } from 'typeorm';
import { pageLimit, pageOf, readCursor, writeCursor } from '#read-store';
import { totalCapacity } from '../domain/ledger.js';
import { NOTHING_HELD, capacityView, difference } from './capacity.js';
import { nodeCapacityEntity, nodeClaimEntity, nodeEntity, nodeTimelineEntity } from './tables.js';
import type { DataSource } from 'typeorm';
import type { Page, PageRequest, Tracked } from '#read-store';
import type { CapacityView } from './capacity.js';
import type { NodeCapacityRow, NodeClaimRow, NodeRow, NodeTimelineRow } from './tables.js';

/** The first that holds: gone, gives up its work, takes no new work, takes work. */
export type NodeStateName = 'offline' | 'draining' | 'cordoned' | 'online';

export interface Reported {
  readonly executions?: readonly string[];
}

export interface NodeView extends NodeRow, Tracked {
  readonly state: NodeStateName;
  /** What the machine has, what claims hold of it, and what is left. */
  readonly capacity: { readonly total: CapacityView; readonly reserved: CapacityView; readonly free: CapacityView };
  /** Live claims: executions that run on it or are about to. */
  readonly executions: number;
  /** The last message, by telemetry; null when none is kept. */
  readonly lastSeenAt: string | null;
  /** What the last heartbeat said, for display. */
  readonly reported: Reported | null;
}

export interface NodeDetails extends NodeView {
  /** Live claims, oldest first. */
  readonly claims: readonly NodeClaimRow[];
}

interface Presence {
  readonly node_id: string;
  readonly last_seen_at: Date;
  readonly payload: Reported;
}

/** Reads the nodes' tables. */
export class NodeQueries {
  constructor(private readonly source: DataSource) {}

  /** By id; of `visible` only, when given. Throws `InvalidCursor`. */
  async list({ limit, cursor }: PageRequest, visible?: readonly string[]): Promise<Page<NodeView>> {
    const size = pageLimit(limit);
    const after = readCursor(cursor, {}, 1)?.[0];
    const conditions = [...(after === undefined ? [] : [MoreThan(after)]), ...(visible ? [In(visible)] : [])];
    const rows = await this.source.getRepository(nodeEntity).find({
      where: conditions.length > 0 ? { id: And(...conditions) } : {},
      order: { id: 'ASC' },
      take: size + 1,
    });
    const page = pageOf(rows, size, ({ id }) => writeCursor([id], {}));
    return { items: await this.views(page.items), next: page.next };
  }

  async get(nodeId: string): Promise<NodeDetails | undefined> {
    const row = await this.source.getRepository(nodeEntity).findOne({ where: { id: nodeId } });
    if (!row) return undefined;
    const [[view], claims] = await Promise.all([this.views([row]), this.claims(nodeId)]);
    return view && { ...view, claims };
  }

  /** Every movement of the node itself, oldest first. */
  async timeline(nodeId: string): Promise<Page<NodeTimelineRow>> {
    const repository = this.source.getRepository(nodeTimelineEntity);
    return { items: await repository.find({ where: { nodeId }, order: { revision: 'ASC' } }), next: null };
  }

  private claims(nodeId: string): Promise<NodeClaimRow[]> {
    const repository = this.source.getRepository(nodeClaimEntity);
    return repository.find({ where: { nodeId, releasedAt: IsNull() }, order: { reservedAt: 'ASC' } });
  }

  private async views(rows: readonly NodeRow[]): Promise<NodeView[]> {
    const ids = rows.map(({ id }) => id);
    const [capacities, presences] = await Promise.all([
      this.source.getRepository(nodeCapacityEntity).find({ where: { nodeId: In(ids) } }),
      this.source.query<Presence[]>(
        'SELECT node_id, last_seen_at, payload FROM node_presence WHERE node_id = ANY($1)',
        [ids],
      ),
    ]);
    const capacityOf = new Map(capacities.map((capacity) => [capacity.nodeId, capacity]));
    const presenceOf = new Map(presences.map((presence) => [presence.node_id, presence]));
    return rows.map((row) => viewOf(row, capacityOf.get(row.id), presenceOf.get(row.id)));
  }
}

const viewOf = (
  row: NodeRow,
  held: (NodeCapacityRow & Tracked) | undefined,
  presence: Presence | undefined,
): NodeView => {
  const total = totalCapacity(row.inventory);
  const reserved = held?.reserved ?? NOTHING_HELD;
  return {
    ...row,
    state: stateOf(row),
    capacity: {
      total: capacityView(total),
      reserved: capacityView(reserved),
      free: capacityView(difference(total, reserved)),
    },
    executions: held?.held ?? 0,
    lastSeenAt: presence?.last_seen_at.toISOString() ?? null,
    reported: presence?.payload ?? null,
    revision: held?.revision ?? '-1',
    position: held?.position ?? '-1',
  };
};

const stateOf = ({ online, draining, cordoned }: NodeRow): NodeStateName => {
  if (!online) return 'offline';
  if (draining) return 'draining';
  return cordoned === null ? 'online' : 'cordoned';
};
