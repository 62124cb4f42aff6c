import { PROJECTION_LOCK } from './runner.js';
import type { Clock, Instant, Millis } from '#kernel';
import type { EventFilter, EventStore, Position } from '#event-store';
import type { Sql } from './database.js';
import type { Projection } from './projection.js';

/** `idle`: no process runs the projections. `outdated`: the tables are of another version than this code's. */
export type ProjectionStateName = 'new' | 'live' | 'catching-up' | 'idle' | 'outdated' | 'rebuilding' | 'failed';

export interface ProjectionStatus {
  readonly name: string;
  readonly state: ProjectionStateName;
  /** Of the tables. */
  readonly version: number;
  /** Decimal; -1 before the first event. */
  readonly position: string;
  readonly head: string;
  /** About how many events the tables are behind, from the mean distance between positions; exact when 0. */
  readonly lagEvents: number;
  /** Age in seconds of the oldest event that the tables may lack; 0 when they are not behind. */
  readonly lagSeconds: number;
  readonly lastError: string | null;
  readonly updatedAt: Instant | null;
  readonly rebuild: {
    readonly version: number;
    readonly fraction: number;
    readonly events: number;
    readonly startedAt: Instant;
  } | null;
}

interface StatusRow {
  readonly name: string;
  readonly version: number;
  readonly position: string;
  readonly events: string;
  readonly state: string;
  readonly error: string | null;
  readonly updated_at: Date;
  readonly rebuild_version: number | null;
  readonly rebuild_position: string;
  readonly rebuild_target: string;
  readonly rebuild_events: string;
  readonly rebuild_started_at: Date;
  readonly run: boolean;
}

/** A rebuild row whose lock nobody holds was left by a crash, and is not shown. */
const STATUS = `
  SELECT c.name, c.version, c.position, c.events, c.state, c.error, c.updated_at,
    r.version AS rebuild_version, r.position AS rebuild_position, r.target AS rebuild_target,
    r.events AS rebuild_events, r.started_at AS rebuild_started_at,
    EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1
      AND (classid::bigint << 32 | objid::bigint) = hashtextextended($1, 0)) AS run
  FROM projection_checkpoints c LEFT JOIN projection_rebuilds r ON r.name = c.name
    AND EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1
      AND (classid::bigint << 32 | objid::bigint) = hashtextextended('rebuild ' || c.name, 0))`;

type Known = Pick<Projection, 'name' | 'version' | 'prefixes'>;

/** How the projections of this code stand, whichever process runs them. */
export const readProjectionStatus = async (
  sql: Sql,
  store: Pick<EventStore, 'head' | 'readAll'>,
  projections: readonly Known[],
  clock: Clock,
): Promise<ProjectionStatus[]> => {
  const [rows, head] = await Promise.all([sql.query<StatusRow>(STATUS, [PROJECTION_LOCK]), store.head()]);
  const filter = { streamPrefixes: [...new Set(projections.flatMap(({ prefixes }) => prefixes))] };
  const statuses = projections.map(async (projection) => {
    const row = rows.rows.find(({ name }) => name === projection.name);
    if (!row) return unknownYet(projection, head);
    const position = BigInt(row.position);
    const since = head > position ? await recordedAfter(store, position, filter) : undefined;
    return statusOf(row, projection.version, head, since === undefined ? 0 : (clock.now() - since) / 1000);
  });
  return Promise.all(statuses);
};

/** When the first event after the position was recorded, of those that any projection is told of: each moves past all of them. */
const recordedAfter = async (
  store: Pick<EventStore, 'readAll'>,
  after: Position,
  filter: EventFilter,
): Promise<Millis | undefined> => {
  for await (const { recordedAt } of store.readAll({ after, filter })) return recordedAt;
  return undefined;
};

const unknownYet = ({ name, version }: Pick<Projection, 'name' | 'version'>, head: Position): ProjectionStatus => ({
  name,
  state: 'new',
  version,
  position: '-1',
  head: head.toString(),
  lagEvents: 0,
  lagSeconds: 0,
  lastError: null,
  updatedAt: null,
  rebuild: null,
});

const statusOf = (row: StatusRow, version: number, head: Position, age: number): ProjectionStatus => {
  const position = BigInt(row.position);
  const behind = head > position;
  return {
    name: row.name,
    state: stateOf(row, version, behind),
    version: row.version,
    position: row.position,
    head: head.toString(),
    lagEvents: behind ? eventsBehind(position, head, BigInt(row.events)) : 0,
    lagSeconds: behind ? Math.max(0, age) : 0,
    lastError: row.error,
    updatedAt: row.updated_at.toISOString(),
    rebuild: rebuildOf(row),
  };
};

const stateOf = (row: StatusRow, version: number, behind: boolean): ProjectionStateName => {
  if (row.rebuild_version !== null) return 'rebuilding';
  if (row.version !== version) return 'outdated';
  if (row.state === 'failed') return 'failed';
  if (!row.run) return 'idle';
  return behind ? 'catching-up' : 'live';
};

const eventsBehind = (position: Position, head: Position, events: bigint): number =>
  Math.max(1, position > 0n && events > 0n ? Number(((head - position) * events) / position) : 1);

const rebuildOf = (row: StatusRow): ProjectionStatus['rebuild'] => {
  if (row.rebuild_version === null) return null;
  const target = Number(row.rebuild_target);
  const fraction = target > 0 ? Math.min(1, Math.max(0, Number(row.rebuild_position) / target)) : 1;
  const { rebuild_version, rebuild_events, rebuild_started_at } = row;
  return {
    version: rebuild_version,
    fraction,
    events: Number(rebuild_events),
    startedAt: rebuild_started_at.toISOString(),
  };
};
