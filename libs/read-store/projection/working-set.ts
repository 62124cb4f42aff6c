import { PoisonEvent, UnknownEventType } from './projection.js';
import type { RecordedEvent } from '#event-store';
import type { Projection, RowReference, Rows } from './projection.js';
import type { AnyRow, KeyedTable, LogTable, Table, TrackedRow } from './table.js';

/** How a keyed row stands against the database. */
type Standing = 'absent' | 'stored' | 'changed' | 'new';

interface Entry {
  row: AnyRow | undefined;
  standing: Standing;
}

/** What a batch comes to, for one table. */
export interface Changes {
  readonly table: Table;
  readonly inserts: readonly AnyRow[];
  readonly updates: readonly AnyRow[];
}

/** How many of a stream's last events are remembered by id. */
const REMEMBERED = 8;

/**
 * The rows of one projection in memory: those of the batch under way, and those used lately, which need not be read
 * again because this is their only writer. `reset` forgets everything, after any doubt about what is stored.
 */
export class WorkingSet implements Rows {
  private readonly keyed = new Map<KeyedTable, Map<string, Entry>>();
  private readonly logs = new Map<LogTable, AnyRow[]>();
  private readonly dirty = new Map<KeyedTable, Set<string>>();

  /** `capacity`: how many rows of each table are kept between batches. */
  constructor(
    private readonly projection: Projection,
    private readonly capacity: number,
  ) {
    this.reset();
  }

  reset(): void {
    for (const table of this.projection.tables) {
      if (table.kind === 'log') {
        this.logs.set(table, []);
        continue;
      }
      this.keyed.set(table, new Map());
      this.dirty.set(table, new Set());
    }
  }

  /** The rows that these events need and that are not here, by table. */
  missing(events: readonly RecordedEvent[]): Map<KeyedTable, Set<string>> {
    const wanted = new Map<KeyedTable, Set<string>>();
    for (const event of events) {
      for (const [table, key] of this.references(event)) {
        if (this.entries(table).has(key)) continue;
        const keys = wanted.get(table);
        if (keys) keys.add(key);
        else wanted.set(table, new Set([key]));
      }
    }
    return wanted;
  }

  /** Takes in what the database answered for `keys`; what it did not find is absent. */
  load(table: KeyedTable, keys: Iterable<string>, found: readonly AnyRow[]): void {
    const entries = this.entries(table);
    for (const key of keys) entries.set(key, { row: undefined, standing: 'absent' });
    for (const row of found) entries.set(row[table.key] as string, { row, standing: 'stored' });
  }

  /**
   * Folds one event, unless its stream's row says that this was done. Throws `PoisonEvent` when the fold throws, and
   * `UnknownEventType` in a strict run.
   */
  apply(event: RecordedEvent, strict: boolean): 'applied' | 'seen' | 'unknown' {
    const { main, keyOf, eventTypes, name } = this.projection;
    const key = keyOf(event.stream);
    const tracked = this.get<AnyRow>(main, key) as TrackedRow | undefined;
    if (tracked && BigInt(tracked.revision) >= event.revision) return 'seen';
    const id = tailOf(event.id);
    const recent = tracked?.recentEvents ?? [];
    const double = recent.includes(id);
    const known = eventTypes.has(event.type);
    if (!known && strict) throw new UnknownEventType(name, event);
    if (known && !double) this.fold(event);
    this.track(key, event, double ? recent : [...recent, id].slice(-REMEMBERED));
    return double ? 'seen' : known ? 'applied' : 'unknown';
  }

  get<Row>(table: KeyedTable<Row>, key: string): Row | undefined {
    const entry = this.entries(table).get(key);
    if (!entry) throw new Error(`the row ${key} of ${table.name} is read but was not named by touches`);
    return entry.row as Row | undefined;
  }

  put<Row>(table: KeyedTable<Row>, row: Row): void {
    const general = table as unknown as KeyedTable;
    const key = row[table.key] as string;
    const entries = this.entries(general);
    const standing = entries.get(key)?.standing;
    entries.set(key, {
      row: row as AnyRow,
      standing: standing === 'stored' || standing === 'changed' ? 'changed' : 'new',
    });
    this.dirty.get(general)?.add(key);
  }

  append<Row>(table: LogTable<Row>, row: Row): void {
    const rows = this.logs.get(table);
    if (!rows) throw new Error(`the table ${table.name} is not one of projection ${this.projection.name}`);
    rows.push(row as AnyRow);
  }

  /** What differs from the database, in the order of the projection's tables. */
  changes(): Changes[] {
    return this.projection.tables.flatMap((table): Changes[] => {
      if (table.kind === 'log') return [{ table, inserts: this.logs.get(table) ?? [], updates: [] }];
      const inserts: AnyRow[] = [];
      const updates: AnyRow[] = [];
      for (const key of this.dirty.get(table) ?? []) {
        const entry = this.entries(table).get(key);
        if (entry?.row) (entry.standing === 'new' ? inserts : updates).push(entry.row);
      }
      return [{ table, inserts, updates }];
    });
  }

  /** The changes are stored. Forgets the rows that were not used for longest, beyond the capacity. */
  settle(): void {
    for (const table of this.logs.keys()) this.logs.set(table, []);
    for (const [table, keys] of this.dirty) {
      const entries = this.entries(table);
      for (const key of keys) this.refresh(table, key);
      keys.clear();
      for (const key of entries.keys()) {
        if (entries.size <= this.capacity) break;
        entries.delete(key);
      }
    }
  }

  /** Moves the row to the end of its map, which is the order in which rows are forgotten. */
  private refresh(table: KeyedTable, key: string): void {
    const entries = this.entries(table);
    const entry = entries.get(key);
    if (!entry?.row) return;
    entries.delete(key);
    entries.set(key, { row: entry.standing === 'new' ? withoutOnce(table, entry.row) : entry.row, standing: 'stored' });
  }

  private references(event: RecordedEvent): readonly RowReference[] {
    const { main, keyOf, touches } = this.projection;
    return [[main, keyOf(event.stream)], ...touches(event)];
  }

  private fold(event: RecordedEvent): void {
    try {
      this.projection.project(event, this);
    } catch (cause) {
      throw new PoisonEvent(this.projection.name, event, cause);
    }
  }

  private track(key: string, event: RecordedEvent, recentEvents: readonly string[]): void {
    const { main } = this.projection;
    const row = this.get<AnyRow>(main, key);
    if (!row) return;
    const tracking = { revision: event.revision.toString(), position: event.position.toString(), recentEvents };
    this.put<AnyRow>(main, { ...row, ...tracking });
  }

  private entries(table: KeyedTable): Map<string, Entry> {
    const entries = this.keyed.get(table);
    if (!entries) throw new Error(`the table ${table.name} is not one of projection ${this.projection.name}`);
    return entries;
  }
}

/** Half of a UUID is unique enough to tell eight events apart. */
const tailOf = (id: string): string => id.slice(-17);

/** A stored row as a later read would give it: what is written once is not kept in memory. */
const withoutOnce = (table: KeyedTable, row: AnyRow): AnyRow => {
  const dropped = Object.entries(table.columns).filter(([, { once }]) => once);
  if (dropped.length === 0) return row;
  const kept: Record<string, unknown> = { ...row };
  for (const [name] of dropped) Reflect.deleteProperty(kept, name);
  return kept;
};
