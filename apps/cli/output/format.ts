import type { Sink } from '../io.js';

/** `table` for people; `json` the REST shape, indented; `jsonl` one item a line. */
export type OutputFormat = 'table' | 'json' | 'jsonl';

export const OUTPUT_FORMATS: readonly OutputFormat[] = ['table', 'json', 'jsonl'];

/** Writes one thing: as `table` would have it, or as JSON. */
export const writeOne = (out: Sink, format: OutputFormat, value: unknown, table: () => string): void =>
  out.write(format === 'table' ? table() : json(format, value));

/** Writes a list: `json` is one array, `jsonl` a line for each item. */
export const writeList = (out: Sink, format: OutputFormat, items: readonly unknown[], table: () => string): void => {
  if (format === 'jsonl') for (const item of items) out.write(json('jsonl', item));
  else out.write(format === 'table' ? table() : json('json', items));
};

/**
 * Writes things one by one, as they come. As `json` they are one document: the thing itself when a single one was asked for,
 * else an array, written at the end.
 */
export const writeEach = (out: Sink, format: OutputFormat, asked: number): Each => {
  const kept: unknown[] = [];
  const asArray = format === 'json' && asked > 1;
  return {
    add: (value, table) => {
      if (asArray) kept.push(value);
      else writeOne(out, format, value, table);
    },
    end: () => {
      if (asArray) out.write(json('json', kept));
    },
  };
};

interface Each {
  add(value: unknown, table: () => string): void;
  end(): void;
}

const json = (format: 'json' | 'jsonl', value: unknown): string =>
  `${format === 'json' ? JSON.stringify(value, null, 2) : JSON.stringify(value)}\n`;
