import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { FACTORS } from '#jobs';
import type { JobSpec, Weights } from '#jobs';
import { aJobSpec, second } from '#testing';
import { applyEvent, decide, emptyCluster, explainNode, plannedRequest, requestOf } from './index.js';
import type { ClusterEvent, ClusterState, PlacementRequest } from './index.js';
import { build, nodes, spec, time } from './testing/clusters.js';
import { contextAt } from './testing/world.js';

const avoid = fc.subarray(['n0', 'n1', 'n2']);

const requestFor = (change: Partial<JobSpec>, avoided: readonly string[]): PlacementRequest => ({
  ...plannedRequest({ jobId: 'job', spec: aJobSpec(change), account: 'ana', institution: 'usp' }),
  avoid: new Set(avoided),
});

const foldAll = (events: readonly ClusterEvent[]): ClusterState => {
  const cluster = emptyCluster();
  for (const event of events) applyEvent(cluster, event);
  return cluster;
};

describe('placement, for any cluster and any job', () => {
  it('A-88 the counts add up: considered = eligible + Σ filtered', () => {
    fc.assert(
      fc.property(nodes, spec, time, avoid, (plans, change, at, avoided) => {
        const { decision } = decide(requestFor(change, avoided), build(plans).cluster, contextAt(at));
        const filtered = decision.filtered.reduce((sum, reason) => sum + reason.nodes, 0);
        expect(decision.considered).toBe(plans.length);
        expect(decision.eligible + filtered).toBe(decision.considered);
        expect(decision.ranking).toHaveLength(Math.min(10, decision.eligible));
        expect(decision.outcome === 'placed').toBe(decision.eligible > 0);
        for (const { score, factors } of decision.ranking) {
          expect(score).toBeGreaterThanOrEqual(0);
          expect(score).toBeLessThanOrEqual(1);
          for (const factor of FACTORS) {
            expect(factors[factor].value).toBeGreaterThanOrEqual(0);
            expect(factors[factor].value).toBeLessThanOrEqual(1);
          }
        }
      }),
    );
  });

  it('A-88 the explanation of each node agrees with the decision, over 10,000 pairs of job and node', () => {
    let pairs = 0;
    fc.assert(
      fc.property(nodes, spec, time, avoid, (plans, change, at, avoided) => {
        const { cluster } = build(plans);
        const request = requestFor(change, avoided);
        const { decision, nodeId } = decide(request, cluster, contextAt(at));
        const explained = [...cluster.nodes.keys()].map((id) => explainNode(request, cluster, contextAt(at), id));
        pairs += explained.length;
        const tally = new Map<string, [number, number]>();
        let possible = 0;
        for (const explanation of explained) {
          if (explanation.kind === 'eligible') {
            expect(explanation.ranked).toEqual(decision.ranking[explanation.place - 1]);
            if (explanation.nodeId === nodeId) expect(explanation).toMatchObject({ place: 1 });
          }
          if (explanation.kind !== 'filtered') continue;
          if (!explanation.reasons.some(({ never }) => never)) possible += 1;
          explanation.reasons.forEach(({ reason, never, asked }, index) => {
            const key = JSON.stringify([reason, never, asked]);
            const [primary, also] = tally.get(key) ?? [0, 0];
            tally.set(key, index === 0 ? [primary + 1, also] : [primary, also + 1]);
          });
        }
        const counted = decision.filtered.map(
          ({ reason, never, asked, nodes: primary, also }): [string, [number, number]] => [
            JSON.stringify([reason, never, asked]),
            [primary, also],
          ],
        );
        expect(new Map(counted)).toEqual(tally);
        const never = decision.eligible === 0 && possible === 0 && plans.length > 0;
        expect(decision.outcome === 'rejected').toBe(never);
      }),
      { numRuns: 4_000 },
    );
    expect(pairs).toBeGreaterThan(10_000);
  });

  it('A-21 the same events give the same decision, folded in one go or in parts, and whatever the order of the nodes', () => {
    fc.assert(
      fc.property(nodes, spec, time, fc.infiniteStream(fc.nat()), (plans, change, at, numbers) => {
        const world = build(plans);
        const request = requestFor(change, []);
        const decision = decide(request, world.cluster, contextAt(at));
        expect(decide(request, foldAll(world.events), contextAt(at))).toEqual(decision);
        const keyed = [...world.cluster.nodes].map((entry) => ({ entry, key: numbers.next().value }));
        const shuffled = new Map(keyed.sort((left, right) => left.key - right.key).map(({ entry }) => entry));
        expect(decide(request, { ...world.cluster, nodes: shuffled }, contextAt(at))).toEqual(decision);
      }),
    );
  });

  it('A-65 no weights place a job on a node that a filter refused', () => {
    const weight = fc.integer({ min: 0, max: 100 });
    const weights: fc.Arbitrary<Weights> = fc.record({
      resources: weight,
      reliability: weight,
      availability: weight,
      queue: weight,
      cost: weight,
    });
    fc.assert(
      fc.property(nodes, spec, time, weights, (plans, change, at, custom) => {
        const { cluster } = build(plans);
        const plain = decide(requestFor(change, []), cluster, contextAt(at)).decision;
        const other = decide(requestFor({ ...change, weights: custom }, []), cluster, contextAt(at)).decision;
        expect(other.filtered).toEqual(plain.filtered);
        expect(new Set(other.ranking.map(({ nodeId }) => nodeId))).toEqual(
          new Set(plain.ranking.map(({ nodeId }) => nodeId)),
        );
      }),
    );
  });

  it('A-60 a preference about one node leaves the factors of all others as they were', () => {
    fc.assert(
      fc.property(nodes, spec, time, fc.integer({ min: 1, max: 100 }), (plans, change, at, weight) => {
        const { cluster } = build(plans);
        const preferences = [...(change.preferences ?? []), { constraint: 'node.id = n0', weight }];
        const before = decide(requestFor(change, []), cluster, contextAt(at)).decision.ranking;
        const after = decide(requestFor({ ...change, preferences }, []), cluster, contextAt(at)).decision.ranking;
        const others = (ranking: typeof before) =>
          Object.fromEntries(ranking.filter(({ nodeId }) => nodeId !== 'n0').map((ranked) => [ranked.nodeId, ranked]));
        expect(others(after)).toEqual(others(before));
        const place = (ranking: typeof before) => ranking.findIndex(({ nodeId }) => nodeId === 'n0');
        expect(place(after)).toBeLessThanOrEqual(place(before));
      }),
    );
  });

  it('A-39 what is placed fits: jobs placed one after another never take more than there is', () => {
    fc.assert(
      fc.property(nodes, fc.array(spec, { maxLength: 8 }), (plans, specs) => {
        const world = build(plans);
        specs.forEach((change, index) => {
          world.job(`placed-${index}`, change);
          const { nodeId, contract } = world.decide(`placed-${index}`, second(7200));
          if (nodeId === undefined || !contract) return;
          const { total, used, devices } = world.cluster.nodes.get(nodeId)!;
          world.reserve(`placed-${index}`, nodeId, contract);
          expect(used.cpu).toBeLessThanOrEqual(total.cpu);
          expect(used.memory).toBeLessThanOrEqual(total.memory);
          for (const device of devices) expect(device.usedShare).toBeLessThanOrEqual(1000);
          const held = [...world.cluster.jobs.get(`placed-${index}`)!.executions.values()];
          expect(held).toMatchObject([{ nodeId, contract }]);
          expect(requestOf(world.cluster.jobs.get(`placed-${index}`)!, 0).avoid.size).toBe(0);
        });
      }),
      { numRuns: 60 },
    );
  });
});
