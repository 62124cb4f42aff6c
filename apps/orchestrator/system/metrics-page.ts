import { Metrics } from './metrics.js';

const HEADINGS = ['name', 'type', 'labels', 'what it measures'];

/** Columns are padded, as the formatter of this repository wants them. */
const table = (rows: readonly (readonly string[])[]): string => {
  const widths = HEADINGS.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  const [head = [], ...body] = rows;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...body.map(line)].join('\n');
};

/** The reference page of all metrics as Markdown; `tools/reference-pages.mjs` writes it to docs/reference/metrics.md. */
export const metricsPage = (): string =>
  [
    '# Metrics',
    'Each control plane answers `GET /metrics` in the Prometheus text format, for operators and auditors. Durations are in seconds; a label has few values, never an id. What is counted from the log (waits, runs, filtered nodes) and by the scheduler is counted by the process that schedules, so sums over processes count nothing twice. Next to these stand the metrics of the runtime (`escalon_process_…`, `escalon_nodejs_…`). This page is written from `apps/orchestrator/system/metrics.ts` by `tools/reference-pages.mjs`.',
    table([
      HEADINGS,
      ...new Metrics().own.map(({ name, type, labels, help }) => [
        `\`${name}\``,
        type,
        labels.map((label) => `\`${label}\``).join(', '),
        help,
      ]),
    ]),
  ].join('\n\n') + '\n';
