/**
 * Types of column that projections need. Instants are `timestamptz`, revisions and positions `bigint`; a document that is
 * only ever read whole is `json`, which is kept as it was written and costs a third of `jsonb` to write.
 */
export type ColumnType =
  'text' | 'integer' | 'bigint' | 'double precision' | 'boolean' | 'timestamptz' | 'json' | 'jsonb' | 'text[]';

export interface Column {
  readonly type: ColumnType;
  readonly nullable: boolean;
  /** Written with the row's first version and never again; the fold neither sees nor changes it afterwards. */
  readonly once: boolean;
}

/** A row as the fold sees it: JSON values, instants as RFC 3339 text, 64-bit integers as decimal text. */
export type AnyRow = Readonly<Record<string, unknown>>;

export type Columns<Row> = { readonly [Name in keyof Row]-?: Column };

interface TableOf<Row> {
  /** The name that readers use. Snake case, as in SQL. */
  readonly name: string;
  readonly columns: Columns<Row>;
  /** Secondary indexes: what follows `ON <table>`, in SQL, with column names in snake case. */
  readonly indexes: readonly string[];
}

/** Rows that change. The key is one text column. */
export interface KeyedTable<Row = AnyRow> extends TableOf<Row> {
  readonly kind: 'keyed';
  readonly key: keyof Row & string;
  /** Keeps `revision` and `position` of the row's stream beside it, which guard the whole projection of that stream. */
  readonly tracked: boolean;
}

/** Rows that are written once, each by one event. */
export interface LogTable<Row = AnyRow> extends TableOf<Row> {
  readonly kind: 'log';
  readonly key: readonly (keyof Row & string)[];
}

export type Table = KeyedTable | LogTable;

const column = (type: ColumnType): Column => ({ type, nullable: false, once: false });

export const text = column('text');
export const integer = column('integer');
export const bigint = column('bigint');
export const double = column('double precision');
export const boolean = column('boolean');
export const instant = column('timestamptz');
export const json = column('json');
/** A document that queries look into. */
export const searchableJson = column('jsonb');
export const textList = column('text[]');

export const nullable = (of: Column): Column => ({ ...of, nullable: true });
export const once = (of: Column): Column => ({ ...of, once: true });

/** What the machinery keeps beside each row of a tracked table. */
export interface Tracked {
  /** The stream's revision as of the last event that was applied, decimal. */
  readonly revision: string;
  /** The position of that event, decimal. */
  readonly position: string;
}

export interface TrackedRow extends Tracked {
  /** Tails of the ids of the last events: the same event stored twice is applied once. */
  readonly recentEvents: readonly string[];
}

const TRACKING: Columns<TrackedRow> = { revision: bigint, position: bigint, recentEvents: textList };

/** Every column in order, those of the machinery last. */
export const allColumns = (table: Table): readonly (readonly [string, Column])[] => {
  const own = Object.entries(table.columns);
  return table.kind === 'keyed' && table.tracked ? [...own, ...Object.entries(TRACKING)] : own;
};

export const keyColumns = (table: Table): readonly string[] => (table.kind === 'keyed' ? [table.key] : table.key);

/** `submittedAt` → `submitted_at`. */
export const snakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
