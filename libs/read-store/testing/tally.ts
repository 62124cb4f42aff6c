import { integer, json, once, text } from '../projection/table.js';
import type { RecordedEvent } from '#event-store';
import type { Projection, Rows } from '../projection/projection.js';
import type { KeyedTable, LogTable } from '../projection/table.js';

/** A projection to test the machinery with: a sum for each stream, one for each part, and every event. */
export interface TallyRow {
  readonly name: string;
  readonly total: number;
  readonly note: string;
}

export interface PartRow {
  readonly part: string;
  readonly total: number;
}

export interface EntryRow {
  readonly name: string;
  readonly id: string;
  readonly data: object;
}

export const talliesTable: KeyedTable<TallyRow> = {
  kind: 'keyed',
  name: 'tallies',
  key: 'name',
  tracked: true,
  columns: { name: text, total: integer, note: once(text) },
  indexes: ['(total)'],
};

export const partsTable: KeyedTable<PartRow> = {
  kind: 'keyed',
  name: 'tally_parts',
  key: 'part',
  tracked: false,
  columns: { part: text, total: integer },
  indexes: [],
};

export const entriesTable: LogTable<EntryRow> = {
  kind: 'log',
  name: 'tally_entries',
  key: ['name', 'id'],
  columns: { name: text, id: text, data: json },
  indexes: [],
};

interface Added {
  readonly part: string;
  readonly amount: number;
  readonly note?: string;
}

const PREFIX = 'tally-';

export const tallyProjection = (change: Partial<Projection> = {}): Projection => ({
  name: 'tally',
  version: 1,
  prefixes: [PREFIX],
  eventTypes: new Set(['Added']),
  main: talliesTable,
  tables: [talliesTable, partsTable, entriesTable],
  keyOf: (stream) => stream.slice(PREFIX.length),
  touches: ({ stream, data }) => [[partsTable, `${stream}/${(data as Added).part}`]],
  project: addUp,
  ...change,
});

const addUp = ({ id, stream, data }: RecordedEvent, rows: Rows): void => {
  const { part, amount, note = '' } = data as Added;
  const name = stream.slice(PREFIX.length);
  const tally = rows.get(talliesTable, name) ?? { name, total: 0, note };
  rows.put(talliesTable, { ...tally, total: tally.total + amount });
  const key = `${stream}/${part}`;
  rows.put(partsTable, { part: key, total: (rows.get(partsTable, key)?.total ?? 0) + amount });
  rows.append(entriesTable, { name, id, data });
};
