import { allColumns, keyColumns, snakeCase } from '../projection/table.js';
import type { Pool } from 'pg';
import type { Projection } from '../projection/projection.js';
import type { AnyRow } from '../projection/table.js';
import type { TableContents } from './memory-tables.js';

/** What the database holds, in the form of `projectInMemory`. */
export const storedContents = async (pool: Pool, projection: Projection): Promise<TableContents> => {
  const contents: Record<string, readonly AnyRow[]> = {};
  for (const table of projection.tables) {
    const keys = keyColumns(table).map((name) => padded(snakeCase(name)));
    const found = await pool.query<AnyRow>(`SELECT * FROM ${table.name} ORDER BY ${keys.join(', ')}`);
    contents[table.name] = found.rows.map((record) =>
      Object.fromEntries(allColumns(table).map(([name]) => [name, plain(record[snakeCase(name)])])),
    );
  }
  return contents;
};

const plain = (value: unknown): unknown => (value instanceof Date ? value.toISOString() : value);

const padded = (name: string): string => `lpad(${name}::text, greatest(20, length(${name}::text)), '0') COLLATE "C"`;
