import { storableJson } from '../json-text.js';
import { allColumns, keyColumns, snakeCase } from './table.js';
import type { AnyRow, Column, Table } from './table.js';

/**
 * The statements of one table under one physical name. Rows travel as one JSON parameter: one statement and one plan for
 * any number of rows, and the fastest way for both sides next to COPY.
 */
export interface TableSql {
  /** The table with its primary key. */
  readonly create: string;
  readonly createIndexes: readonly string[];
  readonly drop: string;
  /** $1: JSON array of rows. Rows of a log table that are there already stay as they are. */
  readonly insert: string;
  /** $1: JSON array of rows; columns that are written once are left alone. */
  readonly update: string;
  /** $1: array of keys. */
  readonly select: string;
  readonly encode: (rows: readonly AnyRow[]) => string;
  readonly decode: (record: AnyRow) => AnyRow;
}

export const tableSql = (table: Table, physicalName: string = table.name): TableSql => {
  const columns = allColumns(table);
  const keys = keyColumns(table).map(snakeCase);
  const name = quoted(physicalName);
  const mutable = columns.filter(([property, { once }]) => !once && !keys.includes(snakeCase(property)));
  const readable = columns.filter(([, { once }]) => !once);
  const conflict = table.kind === 'log' ? ` ON CONFLICT (${keys.join(', ')}) DO NOTHING` : '';
  return {
    create: `CREATE TABLE ${name} (${columns.map(definition).join(', ')}, PRIMARY KEY (${keys.join(', ')}))`,
    createIndexes: table.indexes.map((index) => `CREATE INDEX ON ${name} ${index}`),
    drop: `DROP TABLE IF EXISTS ${name}`,
    insert: `INSERT INTO ${name} (${names(columns)}) SELECT ${names(columns)} FROM ${recordset(columns)}${conflict}`,
    update: `UPDATE ${name} AS t SET ${mutable.map(assignment).join(', ')}
      FROM ${recordset(readable)} WHERE ${keys.map((key) => `t.${key} = v.${key}`).join(' AND ')}`,
    select: `SELECT ${names(readable)} FROM ${name} WHERE ${keys[0] ?? ''} = ANY($1)`,
    encode: encoderOf(columns),
    decode: decoderOf(readable),
  };
};

export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

type Named = readonly [string, Column];

const definition = ([property, { type, nullable }]: Named): string =>
  `${snakeCase(property)} ${type}${nullable ? '' : ' NOT NULL'}`;

const names = (columns: readonly Named[]): string => columns.map(([property]) => snakeCase(property)).join(', ');

const assignment = ([property]: Named): string => `${snakeCase(property)} = v.${snakeCase(property)}`;

const recordset = (columns: readonly Named[]): string =>
  `json_to_recordset($1::json) AS v(${columns.map(([property, { type }]) => `${snakeCase(property)} ${type}`).join(', ')})`;

const encoderOf = (columns: readonly Named[]): TableSql['encode'] => {
  const pairs = columns.map(([property]) => [property, snakeCase(property)] as const);
  return (rows) => {
    return storableJson(
      rows.map((row) => {
        const record: Record<string, unknown> = {};
        for (const [property, name] of pairs) record[name] = row[property];
        return record;
      }),
    );
  };
};

const decoderOf = (columns: readonly Named[]): TableSql['decode'] => {
  const pairs = columns.map(([property, { type }]) => [property, snakeCase(property), type] as const);
  return (record) => {
    const row: Record<string, unknown> = {};
    for (const [property, name, type] of pairs) {
      const value = record[name];
      row[property] = type === 'timestamptz' && value instanceof Date ? value.toISOString() : value;
    }
    return row;
  };
};
