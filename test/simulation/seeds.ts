import { simulate } from './simulate.js';
import type { SimulationOptions } from './simulation.js';

/* What the specs of the simulation share. Each seed is another history: what goes wrong, when, and to whom. */

type Size = Pick<SimulationOptions, 'jobs' | 'agents' | 'storm'>;

export const CROWDED: Size = { jobs: 50, agents: 14, storm: 420_000 };
/** Few jobs and nodes, so that a wake-up that is missed is made up for by no later one. */
export const SPARSE: Size = { jobs: 25, agents: 5, storm: 420_000 };
export const LARGE: Size = { jobs: 500, agents: 20, storm: 600_000 };

/** Milliseconds, for a machine that does much else. */
export const LONGEST = 900_000;

/** The command that shows a seed again. */
export const replayOf = (seed: string, { jobs, agents, storm }: Size): string => {
  const size = `--jobs ${String(jobs)} --agents ${String(agents)} --storm ${String(storm)}`;
  return `npm run build && npm run simulate:seed -- --seed ${seed} ${size} --trace`;
};

/** What went wrong with these seeds, and all that happened in them. */
export const runSeeds = async (
  seeds: readonly number[],
  sizeOf: (seed: number) => Size,
): Promise<{ failed: string[]; seen: string[] }> => {
  const failed: string[] = [];
  const seen = new Set<string>();
  for (const seed of seeds) {
    const size = sizeOf(seed);
    const outcome = await simulate(seed, size);
    if (outcome.violations.length > 0) failed.push([replayOf(String(seed), size), ...outcome.violations].join('\n'));
    for (const { type, data } of outcome.log) {
      seen.add(kindOf(type, data));
    }
  }
  return { failed, seen: [...seen] };
};

/** How the system itself ends a job. */
const ENDS = /-timeout$|-nodes$|^nodes-/;

/** The type, and which way it went where that matters. */
export const kindOf = (type: string, data: unknown): string => {
  const { cause, code } = data as { cause?: string; code?: string };
  if (type === 'CapacityReleased') return `released: ${String(cause)}`;
  if (type === 'ExecutionStopRequested') return `stopped: ${String(cause)}`;
  return type === 'JobFailed' && code !== undefined && ENDS.test(code) ? code : type;
};

export const seedsFrom = (first: number, count: number): number[] =>
  Array.from({ length: count }, (_, index) => first + index);

/** What each case must have seen, or it is no storm. */
export const EXPECTED: readonly string[] = [
  'CapacityReduced',
  'ExecutionFailed',
  'ExecutionLost',
  'ExecutionPaused',
  'ExecutionSucceeded',
  'ExecutionTimedOut',
  'JobCancelled',
  'JobCompleted',
  'JobFailed',
  'JobRequeued',
  'LateResultRejected',
  'NodeCordoned',
  'NodeDrainStarted',
  'NodePoolChanged',
  'NodeWentOffline',
  'PartitionFailed',
  'ReservationAbandoned',
  'ReservationDeclined',
  'ReservationExpired',
  'TargetsChanged',
  'no-matching-nodes',
  'nodes-failed',
  'queue-timeout',
  'released: abandoned',
  'released: superseded',
  'stopped: no-longer-matches',
  'stopped: node-drained',
  'total-timeout',
];
