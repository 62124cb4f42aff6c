import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Decision } from '#jobs';
import { toMillis } from '#kernel';
import type { Discipline } from '#nodes';
import { decisionPoints } from './derivation/points.js';
import { verifyPoint } from './derivation/verify.js';
import { RunningPool } from './testing/running-pool.js';
import type { TimedJob } from './testing/running-pool.js';

/** Four cores: a job has three of them, one wants all, and behind it a short and a long one want the last. */
const crowded = async (discipline: Discipline | undefined): Promise<RunningPool> => {
  const pool = await new RunningPool().begin(discipline, 4);
  await pool.submit({ jobId: 'running', cpu: 3, duration: 100 });
  await pool.submit({ jobId: 'large', cpu: 4, duration: 50 });
  await pool.submit({ jobId: 'long', cpu: 1, duration: 200 });
  await pool.submit({ jobId: 'short', cpu: 1, duration: 60 });
  return pool;
};

const order = ({ starts }: RunningPool): string[] => [...starts.keys()];

const lastDecision = ({ world }: RunningPool, jobId: string): Decision | undefined =>
  world.events(`job-${jobId}`, 'PlacementDecided').at(-1)?.data as Decision | undefined;

const allVerified = async ({ world }: RunningPool): Promise<boolean> => {
  let count = 0;
  for await (const point of decisionPoints(world.store, {})) {
    expect(verifyPoint(point)).toEqual({ kind: 'verified' });
    count += 1;
  }
  return count > 0;
};

describe('the pools', () => {
  it('A-20 without a pool, and with `priority`, whatever fits is taken', async () => {
    for (const discipline of [undefined, 'priority'] as const) {
      const pool = await crowded(discipline);
      expect(order(pool)).toEqual(['running', 'long']);
      expect(lastDecision(pool, 'large')?.lines).toBeUndefined();
      await pool.pass(1_000);
      expect(order(pool)).toEqual(['running', 'long', 'short', 'large']);
    }
  });

  it('G-01 G-20 `fifo` keeps what is small waiting behind the first', async () => {
    const pool = await crowded('fifo');
    expect(order(pool)).toEqual(['running']);
    expect(lastDecision(pool, 'short')).toMatchObject({
      outcome: 'deferred',
      filtered: [{ reason: 'pool.behind', nodes: 1, best: 'large' }],
      lines: [{ pool: 'lab' }],
    });
    await pool.pass(1_000);
    expect(order(pool)).toEqual(['running', 'large', 'long', 'short']);
    expect(await allVerified(pool)).toBe(true);
  });

  it('`backfill` lets only pass what ends before the first is expected to start, and tells when that is', async () => {
    const pool = await crowded('backfill');
    expect(order(pool)).toEqual(['running', 'short']);
    const [line] = lastDecision(pool, 'large')?.lines ?? [];
    expect(line).toMatchObject({ pool: 'lab', hold: { nodeId: 'n0' } });
    expect(pool.secondsOf(toMillis(line?.hold?.from ?? ''))).toBeCloseTo(110, 0);
    expect(lastDecision(pool, 'long')).toMatchObject({ filtered: [{ reason: 'pool.would-delay', best: 'large' }] });
    await pool.pass(1_000);
    expect(order(pool)).toEqual(['running', 'short', 'large', 'long']);
    expect(pool.starts.get('large')).toBeCloseTo(110, 0);
    expect(await allVerified(pool)).toBe(true);
  });
});

const job = fc.record({
  cpu: fc.integer({ min: 1, max: 4 }),
  duration: fc.integer({ min: 1, max: 300 }),
  gap: fc.integer({ min: 0, max: 60 }),
});

/** Runs the jobs, each submitted so many seconds after the one before, until nothing is left. */
const ran = async (
  discipline: Discipline,
  cores: readonly number[],
  jobs: readonly { readonly cpu: number; readonly duration: number; readonly gap: number }[],
  change: Partial<TimedJob> = {},
): Promise<RunningPool> => {
  const pool = await new RunningPool().begin(discipline, ...cores);
  for (const [index, { cpu, duration, gap }] of jobs.entries()) {
    await pool.pass(gap);
    await pool.submit({ jobId: `j${index}`, cpu, duration, ...change });
  }
  await pool.pass(300 * jobs.length + 60);
  expect(pool.starts.size).toBe(jobs.length);
  return pool;
};

describe('lines of random jobs', () => {
  it('G-01 in a `fifo` pool all start in the order in which they came', async () => {
    const cores = fc.constantFrom([4], [4, 4], [4, 5, 6]);
    const run = async (of: readonly number[], jobs: Parameters<typeof ran>[2]): Promise<void> => {
      const pool = await ran('fifo', of, jobs);
      expect(order(pool)).toEqual(jobs.map((_, index) => `j${index}`));
      expect(await allVerified(pool)).toBe(true);
    };
    await fc.assert(fc.asyncProperty(cores, fc.array(job, { minLength: 2, maxLength: 15 }), run), { numRuns: 20 });
  });

  it('in a `backfill` pool nobody starts later than was first expected once he was the first in line', async () => {
    const cores = fc.constantFrom([4], [4, 4], [4, 5, 6]);
    const run = async (of: readonly number[], jobs: Parameters<typeof ran>[2]): Promise<void> => {
      const pool = await ran('backfill', of, jobs);
      for (const [jobId, start] of pool.starts) {
        const decisions = pool.world.events(`job-${jobId}`, 'PlacementDecided').map(({ data }) => data as Decision);
        const froms = decisions.flatMap(({ lines = [] }) =>
          lines.flatMap(({ hold }) => (hold ? [hold.from ?? ''] : [])),
        );
        // Each execution begins a moment after its decision.
        if (froms[0] !== undefined) expect(start - pool.secondsOf(toMillis(froms[0]))).toBeLessThan(0.5);
      }
      expect(await allVerified(pool)).toBe(true);
    };
    await fc.assert(fc.asyncProperty(cores, fc.array(job, { minLength: 2, maxLength: 15 }), run), { numRuns: 20 });
  });
});
