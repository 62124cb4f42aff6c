import { renderFields, renderTable } from './table.js';

type View = Readonly<Record<string, unknown>>;

/** A value as a cell: nothing for what is absent, compact JSON for what has parts. */
export const cell = (value: unknown): string => {
  if (value === undefined || value === null || value === '') return '–';
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : JSON.stringify(value);
};

/** Rows of views under the given columns: heading and field. */
export const viewsTable = (
  columns: readonly (readonly [heading: string, field: string])[],
  views: readonly View[],
): string =>
  renderTable(
    columns.map(([heading]) => heading),
    views.map((view) => columns.map(([, field]) => cell(at(view, field)))),
  );

/** One view, field by field. Fields named first come first, others follow; what is absent is left out. */
export const viewFields = (view: View, first: readonly string[] = []): string => {
  const names = [...first, ...Object.keys(view).filter((name) => !first.includes(name))];
  return renderFields(
    names.map((name) => {
      const value = at(view, name);
      return [words(name), value === undefined || value === null ? undefined : cell(value)];
    }),
  );
};

/** `free.cpu` reaches into a view. */
const at = (view: View, path: string): unknown =>
  path.split('.').reduce<unknown>((value, step) => (value as View | null | undefined)?.[step], view);

/** `submittedAt` → `submitted at`. */
const words = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
