import { describe, expect, it } from '@jest/globals';
import type { RecordedEvent } from '#event-store';
import { jobDecider, liveExecutions } from '#jobs';
import type { JobState } from '#jobs';
import { byText, fold } from '#kernel';
import { nodeDecider } from '#nodes';
import type { NodeEvent, NodeState } from '#nodes';
import { LONGEST, seedsFrom } from './seeds.js';
import { simulate } from './simulate.js';
import { FLEET } from './workload.js';

const BATCHES = 100;
/** Ten more are on many nodes. */
const SIZE = { jobs: BATCHES + 10, agents: 12, storm: 300_000, workload: FLEET };
const SEEDS = 5;

const jobsOf = (log: readonly RecordedEvent[]): Map<string, JobState> => foldAll(log, 'job-', jobDecider);

const foldAll = <Event, State>(
  log: readonly RecordedEvent[],
  prefix: string,
  decider: Parameters<typeof fold<Event, State>>[0],
): Map<string, State> => {
  const streams = Map.groupBy(log, ({ stream }) => stream);
  const own = [...streams].filter(([stream]) => stream.startsWith(prefix));
  return new Map(own.map(([stream, events]) => [stream, fold(decider, events as unknown as Event[])]));
};

/** Nodes that take new work of the project in this zone. */
const fleetOf = (log: readonly RecordedEvent[], zone: string): string[] =>
  [...foldAll<NodeEvent, NodeState>(log, 'node-', nodeDecider).values()]
    .filter(({ online, cordoned, policy }) => online && !cordoned && !policy.deny?.projects?.includes('demo'))
    .filter(({ inventory }) => inventory.labels['zone'] === zone)
    .map(({ nodeId }) => nodeId)
    .sort(byText);

describe('a fleet in which nodes join and leave at random', () => {
  it.each(seedsFrom(1, SEEDS))(
    'S-02 S-04 S-05 100 jobs of count 3, ops and daemon jobs beside them: every batch job completes once per partition, daemon sets match the fleet at the end, seed %i',
    async (seed) => {
      const { violations, log } = await simulate(seed, SIZE);
      expect(violations).toEqual([]);
      const batches = [...jobsOf(log).values()].filter(({ spec }) => spec?.type === 'batch');
      expect(batches.map(({ ended }) => ended)).toEqual(Array.from({ length: BATCHES }, () => 'completed'));
      for (const { executions } of batches) {
        const won = Object.values(executions).filter(({ state }) => state === 'succeeded');
        expect(won.map(({ partition }) => partition).sort()).toEqual([0, 1, 2]);
      }
      // Daemons are ended when all else is at rest.
      const end = log.findIndex(({ type }) => type === 'JobCancelRequested');
      const before = log.slice(0, end);
      const daemons = [...jobsOf(before).values()].filter(({ spec }) => spec?.type === 'daemon');
      expect(daemons.length).toBeGreaterThan(0);
      for (const daemon of daemons) {
        const [constraint = ''] = daemon.spec?.constraints ?? [];
        const on = liveExecutions(daemon).map(({ nodeId }) => nodeId);
        expect(on.sort(byText)).toEqual(fleetOf(before, constraint.replace('zone = ', '')));
      }
      expect(log.filter(({ type }) => type === 'TargetsChanged').length).toBeGreaterThan(daemons.length);
    },
    LONGEST,
  );
});
