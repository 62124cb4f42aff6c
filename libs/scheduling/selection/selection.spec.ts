import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { toMillis } from '#kernel';
import { clusterLines, decide, REASONS } from '#placement';
import { build, nodes, spec, time, World } from '#placement/testing';
import { second } from '#testing';
import { discover } from './discovery.js';
import { dryRun } from './dry-run.js';
import { chainOf } from './rank.js';
import type { Rank, Ranker } from './rank.js';
import { reasonOf } from './rankers.js';
import { allMatchingNodes, allNodes, inWords, topMatchingNodes } from './selection.js';

const AT = toMillis(second(10));
const CORES = { cpu: 2, memory: 1, disk: 0, ioSlots: 0 };

/** Two that take two cores, one with another label, one too small, one offline. */
const fleet = (): World => {
  const world = new World();
  world.node('a1', { inventory: { cpu: 4 } });
  world.node('a2', { inventory: { cpu: 4, labels: { rack: 'b' } } });
  world.node('small', { inventory: { cpu: 1 } });
  world.node('away');
  world.onNode('away', {
    type: 'NodeWentOffline',
    data: { lastSeenAt: second(0), reason: 'silent', at: second(5) },
  });
  return world;
};

describe('selection', () => {
  it('N-01 lists all nodes, and those that match whether there is room or not', () => {
    const world = fleet();
    world.job('other');
    world.reserve('other', 'a1', { cpu: 4 });
    const request = world.request({ resources: CORES });
    expect(allNodes(world.cluster)).toEqual(['a1', 'a2', 'small', 'away']);
    const { nodeIds, reasons } = allMatchingNodes(request, world.cluster, AT);
    expect(nodeIds).toEqual(['a1', 'a2']);
    expect(reasons.map(({ code, nodes: count }) => [code, count])).toEqual([
      ['node.offline', 1],
      ['capacity.cpu', 1],
    ]);
  });

  it('N-01 N-02 gives the top nodes by rank, the preferred first', () => {
    const world = fleet();
    const preferences = [{ constraint: 'rack = b', weight: 1 }];
    const top = topMatchingNodes(world.request({ resources: CORES, preferences }), 2, world.cluster, AT);
    expect(top).toMatchObject({
      kind: 'selected',
      nodes: [
        { nodeId: 'a2', rank: 10 },
        { nodeId: 'a1', rank: 0 },
      ],
    });
  });

  it('N-01 or refuses, with what was asked for, what there is, and each reason with its nodes', () => {
    const world = fleet();
    const top = topMatchingNodes(world.request({ resources: CORES }), 3, world.cluster, AT);
    if (top.kind !== 'not-enough-nodes') throw new Error('there are not so many');
    expect(top).toMatchObject({ requested: 3, available: 4, suitable: 2 });
    expect(inWords(top)).toBe('not enough nodes: 3 requested, 4 available, 2 suitable (1: not enough CPU; 1: offline)');
  });

  it('N-01 whatever the cluster, what is selected takes the job, ranks fall, and counts add up', () => {
    fc.assert(
      fc.property(nodes.map(build), spec, time, fc.integer({ min: 1, max: 8 }), (world, of, now, count) => {
        const request = world.request({ ...of, type: 'batch' });
        const top = topMatchingNodes(request, count, world.cluster, toMillis(now));
        if (top.kind === 'not-enough-nodes') {
          const unsuitable = top.reasons.reduce((sum, one) => sum + one.nodes, 0);
          expect([top.suitable < count, top.suitable + unsuitable]).toEqual([true, top.available]);
          return;
        }
        const ranks = top.nodes.map(({ rank }) => rank);
        expect(ranks).toEqual(ranks.toSorted((left, right) => right - left));
        const context = { number: 1, evaluationId: '', trigger: '', partition: 0, time: now };
        for (const { nodeId } of top.nodes) {
          expect(decide({ ...request, target: nodeId }, world.cluster, context).nodeId).toBe(nodeId);
        }
      }),
      { numRuns: 200 },
    );
  });
});

describe('a chain of rankers', () => {
  const reason = (code: string) => ({ code, text: code, retryable: false, changedBy: [] });
  const gives =
    (rank: Rank): Ranker =>
    () => ({ rank, reason: reason(String(rank)) });

  it('N-02 adds ranks up, each with its reason; unsuitable is final, and nobody behind it is asked', () => {
    expect(chainOf([gives(0), gives(10), gives(10)])('n')).toMatchObject({ rank: 20 });
    const after: Ranker = () => {
      throw new Error('asked');
    };
    const out = chainOf([gives(10), gives(-1), after])('n');
    expect([out.rank, out.reasons.map(({ code }) => code)]).toEqual([-1, ['10', '-1']]);
  });

  it('N-02 gives −1 exactly when one of them does, and their sum otherwise', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom<Rank>(-1, 0, 10)), (ranks) => {
        const expected = ranks.includes(-1) ? -1 : ranks.reduce((sum: number, rank) => sum + rank, 0);
        expect(chainOf(ranks.map(gives))('n').rank).toBe(expected);
      }),
    );
  });
});

describe('discovery', () => {
  const listing = (name: string, ...ids: string[]) => ({ name, nodes: () => ids });
  const failing = {
    name: 'broken',
    nodes: (): string[] => {
      throw new Error('away');
    },
  };

  it('N-02 merges sources, and lists a node once', () => {
    const found = discover([listing('one', 'a', 'b'), listing('two', 'b', 'c')]);
    expect(found).toEqual({ nodeIds: ['a', 'b', 'c'], failed: [] });
  });

  it('N-02 names a source that fails, or passes it over when told to', () => {
    expect(() => discover([failing, listing('one', 'a')])).toThrow('nodes of broken cannot be listed');
    const found = discover([failing, listing('one', 'a')], 'ignore');
    expect([found.nodeIds, found.failed.map(({ source }) => source)]).toEqual([['a'], ['broken']]);
  });
});

describe('a reason', () => {
  const of = (reason: string, never: boolean, until?: string) =>
    reasonOf({ reason, never, description: '', ...(until !== undefined && { until }) });

  it('N-04 says whether it may change by itself, and after which events', () => {
    expect(of('node.offline', false)).toMatchObject({ retryable: true, changedBy: ['NodeWentOnline'] });
    expect(of('capacity.cpu', false).changedBy).toContain('CapacityReleased');
    expect(of('capacity.cpu', true)).toMatchObject({ retryable: false, changedBy: ['NodeInventoryChanged'] });
    expect(of('node.excluded', false, second(60))).toMatchObject({ retryable: true, changedBy: [] });
    expect(of('node.not-its-own', false)).toMatchObject({ retryable: false, changedBy: [] });
  });

  it('N-04 that is "never" is not retryable, whatever it is', () => {
    for (const code of Object.keys(REASONS)) expect(of(code, true).retryable).toBe(false);
  });
});

describe('a dry run', () => {
  it('S-06 N-01 says how many partitions could start now, several on one node, and what keeps the rest', () => {
    const world = fleet();
    const run = (count: number) => dryRun(world.request({ resources: CORES, count }), world.cluster, AT);
    expect(run(4)).toEqual({ partitions: 4, startNow: 4, tried: 4 });
    expect(run(6)).toMatchObject({ partitions: 6, startNow: 4, rest: { requested: 6, available: 4, suitable: 2 } });
  });

  it('S-04 S-05 counts the nodes of a job that has one partition for each', () => {
    const world = fleet();
    const run = (constraint: string) =>
      dryRun(world.request({ type: 'daemon', resources: CORES, constraints: [constraint] }), world.cluster, AT);
    expect(run('rack = b')).toEqual({ partitions: 1, startNow: 1, tried: 1 });
    const nowhere = run('rack = nowhere');
    expect(nowhere).toMatchObject({ partitions: 0, startNow: 0, rest: { suitable: 0 } });
    expect(nowhere.rest?.reasons.map(({ code }) => code)).toContain('constraint');
  });

  it('leaves the cluster as it was, and tries 200 partitions at most', () => {
    const world = new World();
    world.node('big', { inventory: { cpu: 1_000, memory: 2 ** 50 } });
    const before = [...clusterLines(world.cluster)];
    const run = dryRun(world.request({ count: 5_000 }), world.cluster, AT);
    expect(run).toEqual({ partitions: 5_000, startNow: 200, tried: 200 });
    expect([[...clusterLines(world.cluster)], world.cluster.assumed.size]).toEqual([before, 0]);
  });
});
