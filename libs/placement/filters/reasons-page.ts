import { REASONS } from './reasons.js';
import type { ReasonDefinition } from './reasons.js';

const HEADINGS = ['code', 'side', 'what is wrong', 'it passes when', 'looked at again on'];

const cells = ([code, reason]: readonly [string, ReasonDefinition]): string[] => [
  `\`${code}\``,
  reason.side,
  reason.description,
  reason.lifted,
  reason.wakesOn.join(', '),
];

/** Columns are padded, as the formatter of this repository wants them. */
const table = (rows: readonly (readonly string[])[]): string => {
  const widths = HEADINGS.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  const [head = [], ...body] = rows;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...body.map(line)].join('\n');
};

/** The reference page of all reasons as Markdown; `tools/reference-pages.mjs` writes it to docs/reference/reasons.md. */
export const reasonsPage = (): string =>
  [
    '# Reasons',
    'Why a node may not or cannot take a job, in the order in which it is asked: permission, executor state, software, architecture and labels, data, capacity, turn. The first that a node fails is its primary reason, under which it is counted; all others are kept as well. The side says who is not content: the demands of the job, the owner of the node, or the system. A reason is "never" when only a change of the node itself or of the job can lift it. This page is written from `libs/placement/filters/reasons.ts` by `tools/reference-pages.mjs`.',
    table([HEADINGS, ...Object.entries<ReasonDefinition>(REASONS).map(cells)]),
  ].join('\n\n') + '\n';
