import { keyColumns } from '../projection/table.js';
import { WorkingSet } from '../projection/working-set.js';
import type { RecordedEvent } from '#event-store';
import type { Projection } from '../projection/projection.js';
import type { AnyRow, Table } from '../projection/table.js';

/** The rows of each table by its name, sorted by key. */
export type TableContents = Readonly<Record<string, readonly AnyRow[]>>;

/** What a projection makes of a history, without a database: given events, then rows. */
export const projectInMemory = (projection: Projection, events: readonly RecordedEvent[]): TableContents => {
  const tables = new MemoryTables(projection.tables);
  const rows = new WorkingSet(projection, Infinity);
  for (const event of events) {
    for (const [table, keys] of rows.missing([event])) rows.load(table, keys, []);
    rows.apply(event, true);
    tables.store(rows);
  }
  return tables.contents();
};

class MemoryTables {
  private readonly rows: ReadonlyMap<Table, Map<string, AnyRow>>;

  constructor(tables: readonly Table[]) {
    this.rows = new Map(tables.map((table) => [table, new Map()]));
  }

  store(set: WorkingSet): void {
    for (const { table, inserts, updates } of set.changes()) {
      for (const row of inserts) {
        const key = keyOf(table, row);
        if (!this.of(table).has(key)) this.of(table).set(key, row);
      }
      for (const row of updates) {
        const key = keyOf(table, row);
        this.of(table).set(key, { ...this.of(table).get(key), ...row });
      }
    }
    set.settle();
  }

  contents(): TableContents {
    const sorted = (rows: Map<string, AnyRow>): AnyRow[] =>
      [...rows].sort(([left], [right]) => (left < right ? -1 : 1)).map(([, row]) => row);
    return Object.fromEntries([...this.rows].map(([table, rows]) => [table.name, sorted(rows)]));
  }

  private of(table: Table): Map<string, AnyRow> {
    const rows = this.rows.get(table);
    if (!rows) throw new Error(`no table ${table.name}`);
    return rows;
  }
}

/** Numbers are padded, so that text sorts as they do. */
const keyOf = (table: Table, row: AnyRow): string =>
  keyColumns(table)
    .map((name) => String(row[name]).padStart(20, '0'))
    .join('/');
