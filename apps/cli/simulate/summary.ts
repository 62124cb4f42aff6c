import { formatSeconds, reasonDefinition } from '#placement';
import { renderFields, renderTable } from '../output/table.js';
import type { Allocation, SimulationOptions, SimulationResult } from '#placement/simulation';

export interface Summary extends SimulationResult {
  readonly options: Omit<SimulationOptions, 'nodes' | 'jobs'>;
  /** Of wall time. */
  readonly seconds: number;
  readonly decisionsPerSecond: number;
}

export const summaryTable = (summary: Summary): string => {
  const { nodes, gpus, jobs, gpuAsked, placed, decisions, allocation, waits, unplaced } = summary;
  const { seconds, decisionsPerSecond } = summary;
  const fields = renderFields([
    ['nodes', `${nodes} with ${gpus} GPUs`],
    ['jobs', `${jobs}${gpuAsked === undefined ? '' : `, asking for ${percent(gpuAsked)} of the GPUs`}`],
    ['placed', `${placed}, not placed ${unplaced.jobs} (${unplaced.neverFit} fit no node)`],
    ['allocated at 100 % arrivals', allocation.atFullArrivals && parts(allocation.atFullArrivals)],
    ['allocated at the end', parts(allocation.atEnd)],
    ['allocated at most', parts(allocation.peak)],
    ['waits', waitsOf(waits)],
    ['decisions', `${decisions} in ${seconds.toFixed(1)} s, ${decisionsPerSecond}/s`],
  ]);
  if (unplaced.reasons.length === 0) return fields;
  const rows = unplaced.reasons.map(({ reason, never, jobs: count }) => [
    String(count),
    never ? 'never' : 'not now',
    reasonDefinition(reason)?.description ?? reason,
  ]);
  return `${fields}\n${renderTable(['not placed', '', 'mostly because of'], rows)}`;
};

const percent = (part: number): string => `${(part * 100).toFixed(2)} %`;

const parts = ({ gpu, cpu }: Allocation): string =>
  [gpu === undefined ? [] : `${percent(gpu)} of the GPUs`, cpu === undefined ? [] : `${percent(cpu)} of the cores`]
    .flat()
    .join(', ');

const waitsOf = ({ p50, p90, p99, max }: SimulationResult['waits']): string =>
  `median ${span(p50)}, p90 ${span(p90)}, p99 ${span(p99)}, longest ${span(max)}`;

const span = (seconds: number): string => (seconds === 0 ? '0 s' : formatSeconds(seconds));
