import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readJobs, readNodes, simulate } from '#placement/simulation';
import type { SimulationResult } from '#placement/simulation';
import type { BenchResult } from './bench-result.js';

/* How well GPUs are packed: the experiment of Weng et al., USENIX ATC 2023, through the real placement. */

const TRACES = join('test', 'bench', 'traces');
const SEEDS = [42, 43, 44, 45, 46, 47, 48, 49, 50, 51];

/** Share of all GPU milli allocated, in per cent, mean of ten seeds: at 100 % arrivals and at the end. */
const PUBLISHED: readonly (readonly [policy: string, full: number, end: number])[] = [
  ['random', 86.3, 87.47],
  ['dot product', 90.62, 90.85],
  ['GPU clustering', 91.65, 91.88],
  ['GPU packing', 91.78, 92],
  ['best fit', 92.86, 93.08],
  ['fragmentation gradient descent', 95.23, 95.39],
];

/** Takes about a minute. */
export const benchOpenb = (): BenchResult => {
  const nodes = itemsOf(readNodes(readFileSync(join(TRACES, 'openb_node_list_gpu_node.csv'), 'utf8')));
  const jobs = itemsOf(readJobs(readFileSync(join(TRACES, 'openb_pod_list_default.csv'), 'utf8')));
  const begun = performance.now();
  const results = SEEDS.map((seed) =>
    simulate({ nodes, jobs, seed, arrivalsOnly: true, inflate: 1.3, profile: 'gpu' }),
  );
  const seconds = (performance.now() - begun) / 1000;
  const decisions = results.reduce((sum, result) => sum + result.decisions, 0);
  return {
    name: 'openb',
    rows: [
      ...PUBLISHED.map(([policy, full, end]) => row(`${policy} (published)`, full, end)),
      row(
        'Escalon, profile gpu',
        mean(results, (result) => result.allocation.atFullArrivals?.gpu),
        mean(results, atEnd),
      ),
    ],
    notes: [
      'share of all GPU milli allocated, in per cent; arrivals only, inflated to 1.3, mean of ten seeds (ours 42 to 51)',
      `${decisions} decisions in ${seconds.toFixed(1)} s: ${((seconds / decisions) * 1e6).toFixed(0)} µs a job, its events included`,
    ],
  };
};

const row = (policy: string, full: number, end: number): BenchResult['rows'][number] => ({
  policy,
  'at 100 % arrivals': full.toFixed(2),
  'at the end': end.toFixed(2),
});

const atEnd = ({ allocation }: SimulationResult): number | undefined => allocation.atEnd.gpu;

const mean = (results: readonly SimulationResult[], of: (result: SimulationResult) => number | undefined): number =>
  (results.reduce((sum, result) => sum + (of(result) ?? 0), 0) / results.length) * 100;

const itemsOf = <Item>(read: { kind: 'read'; items: readonly Item[] } | { kind: 'mistakes' }): readonly Item[] => {
  if (read.kind === 'mistakes') throw new Error('the trace is not as it was copied');
  return read.items;
};
