import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { toMillis } from '#kernel';
import type { JobSpec } from '#jobs';
import type { Policy } from '#nodes';
import { anInventory, second } from '#testing';
import { decide, explainNode, matchingNodes, stillMatches, targetChange } from './index.js';
import type { NodeReason, PlacementRequest } from './index.js';
import { build, nodes as strictNodes, spec, time } from './testing/clusters.js';
import { contextAt, GIB, World } from './testing/world.js';

/** Every other owner demands nothing, or hardly any node would match. */
const nodes = strictNodes.map((plans) => plans.map((plan, index) => (index % 2 ? plan : { ...plan, policy: {} })));

/** What a part waits for on its node, said once more. */
const WAITS = ['policy.max-share', 'node.excluded', 'node.set-aside', 'node.probation', 'node.unconfirmed'];
const isWaitedFor = ({ reason, never }: NodeReason): boolean =>
  reason.startsWith('quota.') || (!never && (WAITS.includes(reason) || reason.startsWith('capacity.')));

/** Of one node, by its explanation. */
const reasonsOf = (request: PlacementRequest, world: World, nodeId: string, at: string): readonly NodeReason[] => {
  const explained = explainNode(request, world.cluster, { time: at }, nodeId);
  return explained.kind === 'filtered' ? explained.reasons : [];
};

describe('the nodes that match, for any cluster and any job', () => {
  it('S-04 S-05 are those without a reason that a part would not wait for, and the others are counted by theirs', () => {
    let both = 0;
    fc.assert(
      fc.property(nodes, spec, time, (plans, change, at) => {
        const world = build(plans);
        const request = world.request(change);
        const { nodeIds, considered, filtered } = matchingNodes(request, world.cluster, toMillis(at));
        const ids = [...world.cluster.nodes.keys()];
        const left = ids.map(
          (id) => [id, reasonsOf(request, world, id, at).filter((one) => !isWaitedFor(one))] as const,
        );
        expect(nodeIds).toEqual(left.filter(([, reasons]) => reasons.length === 0).map(([id]) => id));
        const out = left.filter(([, reasons]) => reasons.length > 0);
        expect(considered).toBe(ids.length);
        const primary = filtered.filter((one) => one.nodes > 0);
        expect(primary.reduce((sum, one) => sum + one.nodes, 0)).toBe(out.length);
        for (const one of filtered) {
          const having = out.filter(([, reasons]) =>
            reasons.some((has) => has.reason === one.reason && has.never === one.never && has.asked === one.asked),
          );
          expect(one.nodes + one.also).toBe(having.length);
        }
        if (nodeIds.length > 0 && out.length > 0) both += 1;
      }),
      { numRuns: 1000 },
    );
    expect(both).toBeGreaterThan(30);
  });

  it('S-05 a node that takes a part now matches, what matches is never refused for ever, and keeps what it holds', () => {
    fc.assert(
      fc.property(nodes, spec, time, (plans, change, at) => {
        const { cluster } = build(plans);
        const request = new World().request(change);
        const matching = new Set(matchingNodes(request, cluster, toMillis(at)).nodeIds);
        for (const target of cluster.nodes.keys()) {
          const { decision } = decide({ ...request, target }, cluster, contextAt(at));
          expect(decision).toMatchObject({ considered: 1, target });
          if (decision.outcome === 'placed') expect(matching).toContain(target);
          if (!matching.has(target)) continue;
          expect(decision.outcome).not.toBe('rejected');
          expect(stillMatches(request, cluster, target, toMillis(at))).toBe(true);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('S-05 nothing changes by time before it is said to', () => {
    fc.assert(
      fc.property(
        nodes,
        spec,
        time,
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (plans, change, time_, part) => {
          const { cluster } = build(plans);
          const request = new World().request(change);
          const at = toMillis(time_);
          const now = matchingNodes(request, cluster, at);
          expect(now.changesAt).toBeGreaterThan(at);
          const later = at + Math.floor((Math.min(now.changesAt, at + 864e5) - at) * part);
          expect(matchingNodes(request, cluster, later).nodeIds).toEqual(now.nodeIds);
          for (const id of cluster.nodes.keys())
            expect(stillMatches(request, cluster, id, later)).toBe(stillMatches(request, cluster, id, at));
        },
      ),
      { numRuns: 300 },
    );
  });
});

/** A job on these nodes, the first of which run it. */
const jobOn = (type: JobSpec['type'], targets: readonly string[], live: number): World => {
  const world = new World();
  for (const id of ['a', 'b', 'c']) world.node(id);
  world.job('j', { type, estimate: { duration: 600 } });
  if (targets.length > 0) world.targets('j', targets);
  targets.slice(0, live).forEach((id, partition) => world.reserve('j', id, {}, partition));
  return world;
};

const changeOf = (world: World, at = 0) => {
  const { added, removed } = targetChange(world.cluster.jobs.get('j')!, world.cluster, at * 1000);
  return { added, removed };
};

const policy = (world: World, id: string, accepts: Policy) =>
  world.onNode(id, { type: 'NodePolicyChanged', data: { policy: accepts, at: second(1) } });

describe('the change of a job’s nodes', () => {
  it('S-04 an ops job gets all nodes that match, once', () => {
    const world = jobOn('ops', [], 0);
    world.onNode('b', { type: 'NodeWentOffline', data: { lastSeenAt: second(0), reason: 'silent', at: second(1) } });
    expect(changeOf(world)).toEqual({ added: ['a', 'c'], removed: [] });
    world.targets('j', ['a', 'c']);
    world.onNode('b', { type: 'NodeWentOnline', data: { at: second(2) } });
    policy(world, 'a', { deny: { projects: ['demo'] } });
    expect(changeOf(world)).toEqual({ added: [], removed: [] });
  });

  it('S-04 without a node that matches it says why, with the number of nodes', () => {
    const world = jobOn('ops', [], 0);
    for (const id of ['a', 'b']) policy(world, id, { deny: { projects: ['demo'] } });
    world.onNode('c', { type: 'NodeCordoned', data: { reason: 'disk', at: second(1) } });
    const { added, matching } = targetChange(world.cluster.jobs.get('j')!, world.cluster, 0);
    expect(added).toEqual([]);
    expect(matching.filtered).toMatchObject([
      { reason: 'policy.project', never: true, nodes: 2, also: 0 },
      { reason: 'node.cordoned', never: false, nodes: 1, also: 0 },
    ]);
  });

  it('S-05 a daemon gets a node that joins and loses one that it may not use any more', () => {
    const world = jobOn('daemon', ['a', 'b', 'c'], 3);
    expect(changeOf(world)).toEqual({ added: [], removed: [] });
    world.node('d');
    policy(world, 'b', { deny: { accounts: ['ana'] } });
    expect(changeOf(world)).toEqual({ added: ['d'], removed: ['b'] });
    world.project({ members: ['bia'] });
    expect(changeOf(world)).toEqual({ added: [], removed: ['a', 'b', 'c'] });
  });

  it('S-05 a node keeps what it holds while it is away, held or full, and what it does not hold only while it matches', () => {
    const world = jobOn('daemon', ['a', 'b', 'c'], 2);
    for (const id of ['a', 'c']) world.onNode(id, { type: 'NodeCordoned', data: { reason: 'disk', at: second(1) } });
    world.onNode('b', { type: 'NodeInventoryChanged', data: { inventory: anInventory({ cpu: 0.5 }), at: second(1) } });
    expect(changeOf(world)).toEqual({ added: [], removed: ['c'] });
  });

  it('S-05 a part that waits for room keeps its node, and a trial or an exclusion takes none away', () => {
    const world = jobOn('daemon', ['a', 'b', 'c'], 0);
    world.job('big');
    world.reserve('big', 'a', { cpu: 8, memory: GIB });
    for (let count = 0; count < 4; count += 1) world.run('b', 'infrastructure');
    const exclude = { nodeId: 'c', until: second(60) };
    const requeued = { partition: 2, cause: 'declined', message: 'busy', notBefore: second(0), exclude } as const;
    world.onJob('j', { type: 'JobRequeued', data: { ...requeued, at: second(0) } });
    expect(changeOf(world)).toEqual({ added: [], removed: [] });
  });

  it('S-05 an owner’s window gives and takes the node when it opens and closes', () => {
    const world = jobOn('daemon', [], 0);
    const windows = [{ days: ['thu' as const], from: '02:00', to: '04:00', timeZone: 'UTC' }];
    policy(world, 'a', { windows });
    const { matching } = targetChange(world.cluster.jobs.get('j')!, world.cluster, 0);
    expect(matching.nodeIds).toEqual(['b', 'c']);
    expect(matching.changesAt).toBe(2 * 36e5);
    expect(changeOf(world, 2 * 3600).added).toEqual(['a', 'b', 'c']);
    world.targets('j', ['a', 'b', 'c']);
    // Too late for another run of ten minutes, but what is there may stay until the window closes.
    expect(changeOf(world, 4 * 3600 - 60).removed).toEqual(['a']);
    world.reserve('j', 'a', {}, 0);
    expect(changeOf(world, 4 * 3600 - 60).removed).toEqual([]);
    expect(changeOf(world, 4 * 3600).removed).toEqual(['a']);
  });

  it('S-05 a node that comes back before what it held has ended is given its part again', () => {
    const world = jobOn('daemon', ['a', 'b', 'c'], 3);
    const data = { evaluationId: 'e', position: '0', algorithm: '1', added: [], removed: [1], at: second(1) };
    world.onJob('j', { type: 'TargetsChanged', data });
    expect(changeOf(world)).toEqual({ added: ['b'], removed: [] });
  });
});
