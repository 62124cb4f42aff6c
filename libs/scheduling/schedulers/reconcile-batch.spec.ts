import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { clusterLines } from '#placement';
import type { ClusterJob } from '#placement';
import { World } from '#placement/testing';
import { aContract, second } from '#testing';
import { isEmpty } from '../planner/plan.js';
import type { Plan } from '../planner/plan.js';
import { carryOut, verdictsOf } from '../testing/carried-out.js';
import { MOST_PER_PASS } from './place.js';
import type { Pass } from './place.js';
import { reconcileBatch } from './reconcile-batch.js';

const NOW = 600;
const GIB = 1024 ** 3;

/** What has become of one partition by now. */
type Part = 'fresh' | 'live' | 'done' | 'backoff' | 'due';

interface Setting {
  readonly nodes: readonly number[];
  readonly parts: readonly Part[];
  readonly others: number;
  readonly held: 'paused' | 'cancelled' | 'no';
}

/** Nodes of so many cores, some of them taken by others, and a job `j` of one core a partition. */
const settings: fc.Arbitrary<Setting> = fc.record({
  nodes: fc.array(fc.constantFrom(1, 2, 8, 32), { maxLength: 4 }),
  parts: fc.array(fc.constantFrom<Part>('fresh', 'fresh', 'fresh', 'live', 'done', 'backoff', 'due'), {
    minLength: 1,
    maxLength: 50,
    size: 'max',
  }),
  others: fc.nat(6),
  held: fc.constantFrom('no' as const, 'no' as const, 'no' as const, 'paused' as const, 'cancelled' as const),
});

const build = ({ nodes, parts, others, held }: Setting): World => {
  const world = new World();
  nodes.forEach((cpu, index) => world.node(`n${String(index)}`, { inventory: { cpu, memory: 1024 * GIB } }));
  world.node('far', { inventory: { cpu: 0.5, memory: 1024 * GIB } });
  world.job('other', { count: 6 });
  for (let index = 0; index < others && nodes.length > 0; index += 1) world.reserve('other', 'n0', {}, index);
  world.job('j', { count: parts.length });
  parts.forEach((part, index) => bring(world, part, index));
  if (held === 'paused') world.onJob('j', { type: 'JobPaused', data: { reason: 'x', at: second(1) } });
  if (held === 'cancelled')
    world.onJob('j', { type: 'JobCancelRequested', data: { reason: 'x', byUser: true, at: second(1) } });
  return world;
};

/** The far node is as good as any to have run a partition; a live one still holds it. */
const bring = (world: World, part: Part, partition: number): void => {
  if (part === 'fresh') return;
  const executionId = world.reserve('j', 'far', aContract({ cpu: 0 }), partition, second(1));
  if (part === 'live') return;
  world.release('far', executionId, second(2));
  if (part === 'done') {
    const consumption = {
      cpuSeconds: 1,
      wallSeconds: 1,
      maxMemory: 1,
      maxDisk: 0,
      gpuSeconds: 0,
      bytesIn: 0,
      bytesOut: 0,
    };
    const data = { executionId, exitCode: 0, artifacts: [], consumption, at: second(2) };
    return world.onJob('j', { type: 'ExecutionSucceeded', data });
  }
  world.onJob('j', { type: 'ExecutionLost', data: { executionId, reason: 'silent', at: second(2) } });
  const notBefore = second(part === 'due' ? NOW : NOW + 60 + partition);
  const requeued = { partition, cause: 'node-lost' as const, message: 'x', notBefore, at: second(2) };
  world.onJob('j', { type: 'JobRequeued', data: requeued });
};

let executions = 0;
const pass = (at = NOW, trigger = 'JobSubmitted'): Pass => ({
  evaluationId: 'planned',
  trigger,
  now: second(at),
  nextExecution: () => `j.planned-${String((executions += 1))}`,
});

const jobOf = (world: World): ClusterJob => world.cluster.jobs.get('j')!;
const plan = (world: World, at?: number): Plan => reconcileBatch(jobOf(world), world.cluster, pass(at));

const holds = (claim: (world: World, setting: Setting) => void): void =>
  fc.assert(
    fc.property(settings, (setting) => claim(build(setting), setting)),
    { numRuns: 150 },
  );

describe('what is missing of a batch job', () => {
  it('S-02 S-06 is one execution for each partition that is due, at most 20 a pass, never more than its count', () => {
    holds((world, { parts, held }) => {
      const { placements } = plan(world);
      const placed = placements.map(({ decision }) => decision.partition);
      const due = parts.flatMap((part, index) => (part === 'fresh' || part === 'due' ? [index] : []));
      expect(placed).toEqual(held === 'no' ? due.slice(0, placed.length) : []);
      expect(placed.length).toBeLessThanOrEqual(MOST_PER_PASS);
      expect(jobOf(world).executions.size + placed.length).toBeLessThanOrEqual(parts.length);
    });
  });

  it('S-02 is nothing at the second look: what was planned is there, and the rest waits for the same reason', () => {
    holds((world) => {
      const passes = [plan(world)];
      for (let made = passes[0]!; made.followUp.kind === 'again' && !isEmpty(made); made = passes.at(-1)!) {
        carryOut(world, made);
        passes.push(plan(world));
      }
      carryOut(world, passes.at(-1)!);
      expect(isEmpty(plan(world))).toBe(true);
      const live = [...jobOf(world).executions.values()].map(({ partition }) => partition);
      expect(new Set(live).size).toBe(live.length);
    });
  });

  it('P-01 is a value: the cluster is left as it was, and the same state and ids give the same plan', () => {
    holds((world) => {
      const before = [...clusterLines(world.cluster)];
      executions = 0;
      const first = plan(world);
      executions = 0;
      expect(plan(world)).toEqual(first);
      expect([...clusterLines(world.cluster)]).toEqual(before);
      expect(world.cluster.assumed.size).toBe(0);
    });
  });

  it('A-88 S-06 derives again from the log, each decision with the ones before it of the same plan assumed', () => {
    holds((world) => {
      const made = plan(world);
      carryOut(world, made);
      expect(verdictsOf(world, 'planned')).toEqual(
        [...made.placements, ...made.deferrals].map(() => ({ kind: 'verified' })),
      );
      const assumed = made.placements.map(({ decision }) => [...decision.assumed].sort());
      const before = made.placements.map((_, index) => made.placements.slice(0, index));
      expect(assumed).toEqual(before.map((ones) => ones.map(({ executionId }) => executionId).sort()));
    });
  });

  it('S-06 ends with the first partition that no node can take: the others would hear the same', () => {
    const world = build({ nodes: [2], parts: ['fresh', 'fresh', 'fresh', 'fresh'], others: 0, held: 'no' });
    const { placements, deferrals, followUp } = plan(world);
    expect(placements.map(({ decision }) => decision.partition)).toEqual([0, 1]);
    expect(deferrals).toMatchObject([{ partition: 2, number: 3, outcome: 'deferred' }]);
    expect(followUp).toMatchObject({ kind: 'waiting', reasons: 'deferred capacity.cpu capacity.cpu!' });
    carryOut(world, plan(world));
    expect(plan(world)).toMatchObject({ deferrals: [], followUp: { kind: 'waiting' } });
  });

  it('S-06 comes 20 at a time, the rest right after', () => {
    const parts = Array.from({ length: 50 }, () => 'fresh' as const);
    const world = build({ nodes: [32, 32], parts, others: 0, held: 'no' });
    const sizes: number[] = [];
    for (let made = plan(world); ; made = plan(world)) {
      carryOut(world, made);
      sizes.push(made.placements.length);
      if (made.followUp.kind !== 'again') break;
    }
    expect(sizes).toEqual([20, 20, 10]);
  });

  it('S-06 comes in no smaller portions while very many reservations are on their way', () => {
    const parts = Array.from({ length: 50 }, () => 'fresh' as const);
    const world = build({ nodes: [32, 32, 8], parts, others: 0, held: 'no' });
    for (let index = 0; index < 200; index += 1) world.cluster.assumed.set(`elsewhere-${String(index)}`, 'gone');
    expect(plan(world).placements).toHaveLength(MOST_PER_PASS);
  });

  it('R-04 waits for the end of the first backoff when nothing else is due', () => {
    const world = build({ nodes: [8], parts: ['backoff', 'backoff', 'done'], others: 0, held: 'no' });
    expect(plan(world)).toMatchObject({ placements: [], followUp: { kind: 'idle', until: second(NOW + 60) } });
    expect(plan(world, NOW + 60).placements).toHaveLength(1);
    expect(plan(world, NOW + 60).followUp).toEqual({ kind: 'again', because: 'more' });
  });
});
