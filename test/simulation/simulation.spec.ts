import { describe, expect, it } from '@jest/globals';
import { simulate } from './simulate.js';
import type { Outcome } from './simulate.js';

/*
 * Each seed is another history: what goes wrong, when, and to whom. Odd ones are crowded, even ones have few jobs and nodes,
 * so that a wake-up that is missed is made up for by no later one; a few are as large as they come. All of them together cost
 * one core less than four minutes.
 */

const CROWDED = { jobs: 50, agents: 14, storm: 420_000 };
const SPARSE = { jobs: 25, agents: 5, storm: 420_000 };
const LARGE = { jobs: 500, agents: 20, storm: 600_000 };
type Size = typeof CROWDED;

const SEEDS = 200;
const PER_CASE = 20;
/** Milliseconds, for a machine that does much else. */
const LONGEST = 600_000;

const sizeOf = (seed: number): Size => (seed > SEEDS ? LARGE : seed % 2 === 1 ? CROWDED : SPARSE);

/** Says how to see a seed that failed again. */
const replay = ({ seed, violations }: Outcome): string => {
  const { jobs, agents, storm } = sizeOf(seed);
  const size = `--jobs ${String(jobs)} --agents ${String(agents)} --storm ${String(storm)}`;
  return `npm run build && npm run simulate:seed -- --seed ${String(seed)} ${size} --trace\n${violations.join('\n')}`;
};

/** What went wrong with these seeds, and all that happened in them. */
const run = async (seeds: readonly number[]): Promise<{ failed: string[]; seen: string[] }> => {
  const failed: string[] = [];
  const seen = new Set<string>();
  for (const seed of seeds) {
    const outcome = await simulate(seed, sizeOf(seed));
    if (outcome.violations.length > 0) failed.push(replay(outcome));
    for (const { type, data } of outcome.log) {
      seen.add(type === 'CapacityReleased' ? `released: ${(data as { cause: string }).cause}` : type);
    }
  }
  return { failed, seen: [...seen] };
};

const from = (first: number, count: number): number[] => Array.from({ length: count }, (_, index) => first + index);

describe('the whole control plane under faults, in virtual time', () => {
  it.each(from(0, SEEDS / PER_CASE).map((block) => block * PER_CASE + 1))(
    'A-17 A-46 A-80 A-86 B-63 P-02 holds its invariants from seed %i on, whatever goes wrong',
    async (first) => {
      const { failed, seen } = await run(from(first, PER_CASE));
      expect(failed).toEqual([]);
      expect(seen).toEqual(expect.arrayContaining(EXPECTED));
    },
    LONGEST,
  );

  it(
    'A-17 A-46 A-80 A-86 holds them with 500 jobs on 20 nodes',
    async () => {
      const { failed } = await run([1001, 1002]);
      expect(failed).toEqual([]);
    },
    LONGEST,
  );

  it('the same seed gives the same log, event for event', async () => {
    const [first, second, other] = await Promise.all([7, 7, 9].map((seed) => simulate(seed, CROWDED)));
    expect(second?.digest).toBe(first?.digest);
    expect(other?.digest).not.toBe(first?.digest);
    expect(first?.events).toBeGreaterThan(500);
  });
});

/** What each case must have seen, or it is no storm. */
const EXPECTED = [
  'ExecutionFailed',
  'ExecutionLost',
  'ExecutionPaused',
  'ExecutionSucceeded',
  'JobCancelled',
  'JobCompleted',
  'JobFailed',
  'JobRequeued',
  'LateResultRejected',
  'NodeCordoned',
  'NodeDrainStarted',
  'NodeWentOffline',
  'ReservationAbandoned',
  'ReservationDeclined',
  'ReservationExpired',
  'released: abandoned',
  'released: superseded',
];
