import { writeFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { parseArgs } from 'node:util';
import type { BenchResult } from './bench-result.js';
import { benchEventStore } from './eventstore.js';
import { benchLifecycle } from './lifecycle.js';
import { benchOpenb } from './openb.js';
import { benchPlacement } from './placement.js';
import { benchStart } from './start.js';
import { benchWaiting } from './waiting.js';

/* `npm run bench [-- NAME… --json FILE]`: runs the benchmarks named (all without a name), a table for each on stdout. */

const BENCHMARKS: Readonly<Record<string, () => Promise<BenchResult> | BenchResult>> = {
  eventstore: benchEventStore,
  lifecycle: benchLifecycle,
  openb: benchOpenb,
  placement: benchPlacement,
  start: benchStart,
  waiting: benchWaiting,
};

const show = ({ name, rows, notes }: BenchResult): void => {
  console.log(`\n${name}`);
  console.table(rows);
  for (const note of notes) console.log(`  ${note}`);
};

const main = async (): Promise<void> => {
  const { values, positionals } = parseArgs({ allowPositionals: true, options: { json: { type: 'string' } } });
  const names = positionals.length > 0 ? positionals : Object.keys(BENCHMARKS);
  const unknown = names.filter((name) => !(name in BENCHMARKS));
  if (unknown.length > 0) {
    console.error(`no benchmark ${unknown.join(', ')}; there are ${Object.keys(BENCHMARKS).join(', ')}`);
    process.exit(2);
  }
  const results: BenchResult[] = [];
  for (const name of names) {
    const result = await BENCHMARKS[name]!();
    show(result);
    results.push(result);
  }
  const machine = { cores: availableParallelism(), model: cpus()[0]?.model ?? '', node: process.version };
  const report = { at: new Date().toISOString(), machine, results };
  writeFileSync(values.json ?? 'bench-results.json', `${JSON.stringify(report, null, 2)}\n`);
};

await main();
