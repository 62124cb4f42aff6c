import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { toMillis } from '#kernel';
import type { JobSpec } from '#jobs';
import { clusterLines, matchingNodes, plannedRequest, targetChange } from '#placement';
import type { ClusterJob } from '#placement';
import { build, nodes, spec as specs, time, World } from '#placement/testing';
import { second } from '#testing';
import { isEmpty } from '../planner/plan.js';
import type { Plan } from '../planner/plan.js';
import { carryOut, verdictsOf } from '../testing/carried-out.js';
import { MOST_PER_PASS } from './place.js';
import { reconcileTargets } from './reconcile-targets.js';

let executions = 0;

const jobOf = (world: World): ClusterJob | undefined => world.cluster.jobs.get('j');

const plan = (world: World, now: string): Plan =>
  reconcileTargets(jobOf(world)!, world.cluster, {
    evaluationId: 'planned',
    trigger: 'JobSubmitted',
    now,
    nextExecution: () => `j.planned-${String((executions += 1))}`,
  });

/** All passes until nothing follows at once. */
const passes = (world: World, now: string): Plan[] => {
  const made: Plan[] = [];
  while (jobOf(world)) {
    const next = plan(world, now);
    made.push(next);
    carryOut(world, next);
    if (next.followUp.kind !== 'again') break;
  }
  return made;
};

const type = fc.constantFrom<JobSpec['type']>('ops', 'daemon');

const holds = (claim: (world: World, now: string, type: JobSpec['type']) => void): void =>
  fc.assert(
    fc.property(nodes.map(build), specs, type, time, (world, spec, of, now) => {
      world.job('j', { ...spec, type: of });
      claim(world, now, of);
    }),
    { numRuns: 200 },
  );

const requestOf = (job: ClusterJob) =>
  plannedRequest({ jobId: job.id, spec: job.spec, account: job.account, institution: job.institution });

describe('what is missing of a job with targets', () => {
  it('S-04 S-05 is one execution on each node that matches; without any an ops job ends, and a daemon waits', () => {
    holds((world, now, of) => {
      const { nodeIds } = matchingNodes(requestOf(jobOf(world)!), world.cluster, toMillis(now));
      const made = passes(world, now);
      if (of === 'ops' && nodeIds.length === 0) {
        expect(made.at(-1)?.end).toMatchObject({ class: 'policy', code: 'no-matching-nodes' });
        expect(jobOf(world)).toBeUndefined();
        return;
      }
      const { partitions } = jobOf(world)!;
      expect(partitions.map(({ target }) => target).sort()).toEqual([...nodeIds].sort());
      for (const { state, target, nodeId, digest } of partitions) {
        expect(state === 'live' ? nodeId : digest !== undefined && target).toBe(target);
      }
      if (of === 'daemon') expect(made.at(-1)?.followUp.kind).toBe('waiting');
    });
  });

  it('S-04 S-05 is nothing at the second look, and derives again from the log', () => {
    holds((world, now) => {
      const made = passes(world, now);
      if (jobOf(world)) expect(isEmpty(plan(world, now))).toBe(true);
      const decided = made.flatMap(({ targets, placements, deferrals }) => [
        ...(targets ? [targets] : []),
        ...placements,
        ...deferrals,
      ]);
      expect(verdictsOf(world, 'planned')).toEqual(decided.map(() => ({ kind: 'verified' })));
    });
  });

  it('P-01 is a value: the cluster is left as it was', () => {
    holds((world, now) => {
      passes(world, now);
      world.node('late', { inventory: { cpu: 64 } });
      if (!jobOf(world)) return;
      const before = [...clusterLines(world.cluster)];
      executions = 0;
      const first = plan(world, now);
      executions = 0;
      expect([plan(world, now), [...clusterLines(world.cluster)]]).toEqual([first, before]);
    });
  });

  it('S-05 follows the cluster: whatever joins, leaves or changes, the next passes bring the targets in line', () => {
    holds((world, now, of) => {
      passes(world, now);
      const [first, last] = [...world.cluster.nodes.keys()];
      world.node('late', { inventory: { cpu: 64, memory: 64 * 1024 ** 3 } });
      const deny = { deny: { projects: ['demo'] } };
      if (first !== undefined) world.onNode(first, { type: 'NodePolicyChanged', data: { policy: deny, at: now } });
      if (last !== undefined) world.onNode(last, { type: 'NodeCordoned', data: { reason: 'x', at: now } });
      const before = jobOf(world)?.partitions.length;
      passes(world, now);
      const job = jobOf(world);
      if (!job) return;
      const { added, removed } = targetChange(job, world.cluster, toMillis(now));
      expect([added, removed]).toEqual([[], []]);
      if (of === 'ops') expect(job.partitions).toHaveLength(before ?? 0);
      if (of === 'daemon' && first !== undefined) {
        const own = job.partitions.find(({ target }) => target === first);
        expect(own === undefined || own.state === 'removed' || own.leaving).toBe(true);
      }
    });
  });

  it('S-06 comes 20 at a time, the nodes in a pass of their own', () => {
    const world = new World();
    for (let index = 0; index < 45; index += 1) world.node(`n${String(index)}`);
    world.job('j', { type: 'daemon' });
    const made = passes(world, second(0));
    expect(made.map(({ placements }) => placements.length)).toEqual([0, MOST_PER_PASS, MOST_PER_PASS, 5]);
    expect(made[0]?.targets?.added).toHaveLength(45);
  });

  it('S-06 A-88 tells of at most 100 nodes without room in one pass, each once', () => {
    const world = new World();
    for (let index = 0; index < 250; index += 1) world.node(`n${String(index)}`, { inventory: { cpu: 1 } });
    world.job('other', { count: 250 });
    for (let index = 0; index < 250; index += 1) world.reserve('other', `n${String(index)}`, {}, index);
    world.job('j', { type: 'ops' });
    const made = passes(world, second(0));
    expect(made.map(({ deferrals }) => deferrals.length)).toEqual([0, 100, 100, 50]);
    expect(made.at(-1)?.followUp).toMatchObject({
      kind: 'waiting',
      wakesOn: expect.arrayContaining(['CapacityReleased']),
    });
    expect(isEmpty(plan(world, second(1)))).toBe(true);
  });
});
