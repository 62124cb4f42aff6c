import { EntitySchema, EntitySchemaOptions } from 'typeorm';
import { allColumns, keyColumns, snakeCase } from './projection/table.js';
import type { EntitySchemaColumnOptions } from 'typeorm';
import type { Column, KeyedTable, LogTable, Table, Tracked } from './projection/table.js';

/** Instants leave the database as text in the kernel's form, so a row reads the same in the fold and in a query. */
const INSTANT = {
  to: (value: unknown): unknown => value,
  from: (value: unknown): unknown => (value instanceof Date ? value.toISOString() : value),
};

/** The entity that reads a projection's table. Entities are for reading only: rows are written by the fold. */
export function entityOf<Row>(table: KeyedTable<Row>): EntitySchema<Row & Tracked>;
export function entityOf<Row>(table: LogTable<Row>): EntitySchema<Row>;
export function entityOf<Row>(table: KeyedTable<Row> | LogTable<Row>): EntitySchema {
  const general: Table = table;
  const keys = keyColumns(general);
  const columns = allColumns(general).map(
    ([name, column]) => [name, optionsOf(name, column, keys.includes(name))] as const,
  );
  const options = new EntitySchemaOptions<Record<string, unknown>>();
  return new EntitySchema(
    Object.assign(options, { name: general.name, tableName: general.name, columns: Object.fromEntries(columns) }),
  );
}

const optionsOf = (name: string, column: Column, primary: boolean): EntitySchemaColumnOptions => ({
  name: snakeCase(name),
  type: column.type === 'text[]' ? 'text' : column.type,
  array: column.type === 'text[]',
  nullable: column.nullable,
  primary,
  ...(name === 'recentEvents' ? { select: false } : {}),
  ...(column.type === 'timestamptz' ? { transformer: INSTANT } : {}),
});
