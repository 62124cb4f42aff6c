/** Columns of text, two spaces apart. The last column is not padded; line breaks inside a cell become spaces. */
export const renderTable = (headings: readonly string[], rows: readonly (readonly string[])[]): string => {
  const cells = [headings, ...rows].map((row) => row.map((cell) => cell.replaceAll(/\s*\n\s*/g, ' ')));
  const widths = headings.map((_, column) => Math.max(...cells.map((row) => widthOf(row[column] ?? ''))));
  return cells.map((row) => `${joinRow(row, widths)}\n`).join('');
};

/** `name: value` lines with the values under one another. Absent values are left out. */
export const renderFields = (fields: readonly (readonly [name: string, value: string | undefined])[]): string => {
  const shown = fields.filter((field): field is readonly [string, string] => field[1] !== undefined);
  const width = Math.max(0, ...shown.map(([name]) => name.length));
  return shown.map(([name, value]) => `${`${name}:`.padEnd(width + 1)}  ${value}\n`).join('');
};

const joinRow = (row: readonly string[], widths: readonly number[]): string =>
  row
    .map((cell, column) =>
      column === row.length - 1 ? cell : cell + ' '.repeat((widths[column] ?? 0) - widthOf(cell)),
    )
    .join('  ')
    .trimEnd();

/** Counts characters as people see them, not UTF-16 units. */
const widthOf = (text: string): number => [...SEGMENTS.segment(text)].length;

const SEGMENTS = new Intl.Segmenter();
