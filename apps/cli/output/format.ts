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

const json = (format: 'json' | 'jsonl', value: unknown): string =>
  `${format === 'json' ? JSON.stringify(value, null, 2) : JSON.stringify(value)}\n`;
