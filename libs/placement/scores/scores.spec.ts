import { describe, expect, it } from '@jest/globals';
import { FACTORS } from '#jobs';
import type { Factor, JobSpec } from '#jobs';
import type { Policy } from '#nodes';
import { aJobSpec, second } from '#testing';
import { explainNode, PROFILES, profileOf, weightedScore } from '../index.js';
import { contextAt, GIB, World } from '../testing/world.js';

const score = (world: World, nodeId: string, spec: Partial<JobSpec> = {}, time = second(0)) => {
  const explained = explainNode(world.request(spec), world.cluster, contextAt(time), nodeId);
  if (explained.kind !== 'eligible') throw new Error(`${nodeId} is ${explained.kind}`);
  return explained;
};

const value = (world: World, nodeId: string, factor: Factor, spec: Partial<JobSpec> = {}, time = second(0)): number =>
  score(world, nodeId, spec, time).ranked.factors[factor].value;

const needs = (change: Partial<JobSpec['resources']>): Partial<JobSpec> => ({
  resources: { cpu: 1, memory: GIB, disk: 0, ioSlots: 0, ...change },
});

describe('the composition of the score', () => {
  it('A-68 A-69 A-70 A-71 A-72 balanced weighs 30, 25, 20, 15 and 10', () => {
    expect(PROFILES.balanced.weights).toEqual({
      resources: 30,
      reliability: 25,
      availability: 20,
      queue: 15,
      cost: 10,
    });
  });

  it('A-66 every profile adds up to 100, and no two are alike', () => {
    const profiles = Object.values(PROFILES).map(({ weights }) => FACTORS.map((factor) => weights[factor]));
    expect(profiles.map((weights) => weights.reduce((sum, weight) => sum + weight, 0))).toEqual(
      profiles.map(() => 100),
    );
    expect(new Set(profiles.map(String)).size).toBe(profiles.length);
  });

  it('A-60 a factor of 0 stays in the denominator: (0.90, 0.20) beats (0.60, 0)', () => {
    const weights = { resources: 1, reliability: 1, availability: 0, queue: 0, cost: 0 };
    const values = (resources: number, reliability: number) => ({
      resources,
      reliability,
      availability: 1,
      queue: 1,
      cost: 1,
    });
    expect(weightedScore(values(0.9, 0.2), weights)).toBe(0.55);
    expect(weightedScore(values(0.6, 0), weights)).toBe(0.3);
  });

  it.each<[Partial<JobSpec>, string, string]>([
    [{}, 'balanced', 'derived: nothing in the estimate stands out'],
    [{ profile: 'cheap' }, 'cheap', 'named by the job'],
    [needs({ cpu: 16 }), 'cpu', 'derived from resources.cpu: 16'],
    [needs({ memory: 64 * GIB }), 'memory', 'derived from resources.memory: 64 GiB'],
    [needs({ gpu: { count: 2, share: 1, models: [] } }), 'gpu', 'derived from resources.gpu: 2 × 1'],
    [{ estimate: { duration: 86_400 } }, 'long', 'derived from estimate.duration: 1 d'],
    [{ type: 'ops' }, 'interactive', 'derived from type: ops'],
    [{ weights: PROFILES.cpu.weights, profile: 'cheap' }, 'custom', "the job's own weights"],
    [
      { weights: { resources: 0, reliability: 0, availability: 0, queue: 0, cost: 0 } },
      'balanced',
      'derived: nothing in the estimate stands out',
    ],
  ])('A-66 %j is weighed as %s', (spec, name, from) => {
    expect(profileOf(aJobSpec(spec))).toMatchObject({ name, from });
  });

  it('A-66 other weights choose another node', () => {
    const world = new World();
    world.node('dear', { inventory: { cpu: 2 }, policy: { price: { cpuHour: 4 } } });
    world.node('free', { inventory: { cpu: 64 } });
    const only = (factor: Factor) => ({
      resources: 0,
      reliability: 0,
      availability: 0,
      queue: 0,
      cost: 0,
      [factor]: 1,
    });
    expect(world.plan({ weights: only('resources') }).nodeId).toBe('dear');
    expect(world.plan({ weights: only('cost') }).nodeId).toBe('free');
    expect(world.plan({ weights: only('cost') }).decision.versions.weights).toBe('custom');
  });
});

describe('resources', () => {
  it('A-33 packs: what would be fuller is better, so the large gap stays whole', () => {
    const world = new World();
    world.node('large', { inventory: { cpu: 64, memory: 256 * GIB } });
    world.node('small', { inventory: { cpu: 8, memory: 16 * GIB } });
    expect(value(world, 'small', 'resources', needs({ cpu: 4, memory: 8 * GIB }))).toBe(0.625);
    expect(value(world, 'large', 'resources', needs({ cpu: 4, memory: 8 * GIB }))).toBeCloseTo(
      0.25 + 0.75 * 0.046875,
      6,
    );
  });

  it('A-33 looks only at what the job asks for', () => {
    const world = new World();
    world.node('a', { inventory: { cpu: 8, memory: 16 * GIB, disk: 10 * GIB } });
    expect(value(world, 'a', 'resources', needs({ cpu: 8, memory: 16 * GIB }))).toBe(1);
    expect(value(world, 'a', 'resources', needs({ cpu: 8, memory: 16 * GIB, disk: GIB }))).toBeCloseTo(
      0.25 + (0.75 * 2.1) / 3,
      5,
    );
  });

  it('A-33 spreads a service, away from its own instances first', () => {
    const world = new World();
    world.node('a');
    world.node('b');
    world.job('s', { type: 'service', count: 2 });
    const first = world.decide('s').nodeId!;
    world.reserve('s', first);
    expect(world.decide('s', second(0), 1).nodeId).not.toBe(first);
  });

  it('A-33 keeps jobs without GPUs away from nodes that have some', () => {
    const world = new World();
    world.node('cpu', { inventory: { cpu: 64, memory: 128 * GIB } });
    world.node('gpu', { inventory: { cpu: 32, memory: 64 * GIB, gpus: [{ id: 'g', model: 'T4', memory: GIB }] } });
    expect(world.plan().nodeId).toBe('cpu');
    expect(world.plan(needs({ gpu: { count: 1, share: 0.5, models: [] } })).nodeId).toBe('gpu');
  });
});

describe('headroom', () => {
  const gpus = Array.from({ length: 4 }, (_, index) => ({ id: `g${index}`, model: 'T4', memory: 16 * GIB }));

  it('A-70 a tenth left free is enough, and less is not', () => {
    const world = new World();
    world.node('a', { inventory: { cpu: 10, memory: 100 * GIB } });
    const of = (cpu: number): number => value(world, 'a', 'availability', needs({ cpu }));
    expect(of(9)).toBe(of(0.1));
    expect(of(9.1)).toBeCloseTo(of(9) - 0.2, 6);
  });

  it('A-70 asks for GPUs left free only for a job that takes some', () => {
    const world = new World();
    world.node('a', { inventory: { cpu: 64, memory: 256 * GIB, gpus } });
    const gpu = (count: number) => needs({ gpu: { count, share: 1, models: [] } });
    expect(value(world, 'a', 'availability', gpu(3))).toBe(value(world, 'a', 'availability'));
    expect(value(world, 'a', 'availability', gpu(4))).toBeLessThan(value(world, 'a', 'availability'));
  });
});

describe('reliability', () => {
  it('A-34 orders a proven node before a new one before one that fails', () => {
    const world = new World();
    for (const id of ['good', 'new', 'bad']) world.node(id);
    for (let count = 0; count < 5; count += 1) world.run('good', 'success');
    for (let count = 0; count < 2; count += 1) world.run('bad', 'infrastructure');
    const values = ['good', 'new', 'bad'].map((id) => value(world, id, 'reliability'));
    expect(values).toEqual([0.888889, 0.75, 0.5]);
  });

  it('A-34 is 0 for a node that fails everything', () => {
    const world = new World();
    world.node('bad');
    for (let count = 0; count < 3; count += 1) world.run('bad', 'infrastructure');
    expect(score(world, 'bad').ranked.factors.reliability).toMatchObject({ value: 0, raw: 0.428571 });
  });

  it('A-34 is that of the application where it has run, else that of the node', () => {
    const world = new World();
    world.node('a');
    const node = { application: { name: 'node' } };
    for (let count = 0; count < 2; count += 1) world.run('a', 'infrastructure', node);
    for (let count = 0; count < 8; count += 1) world.run('a', 'success', { application: { name: 'r' } });
    expect(value(world, 'a', 'reliability', node)).toBeLessThan(value(world, 'a', 'reliability'));
  });

  it('A-34 forgets with time', () => {
    const world = new World();
    world.node('a');
    for (let count = 0; count < 2; count += 1) world.run('a', 'infrastructure');
    const later = second(70 * 86_400);
    expect(value(world, 'a', 'reliability', {}, later)).toBeGreaterThan(0.749);
  });
});

describe('availability', () => {
  it('A-70 prefers the node that was there, the one with room, and the one whose window outlasts the job', () => {
    const world = new World();
    const windows: Policy['windows'] = [{ days: ['thu'], from: '00:00', to: '03:00', timeZone: 'UTC' }];
    world.node('steady');
    world.node('flaky');
    world.node('lent', { policy: { windows } });
    world.node('full');
    world.job('j');
    world.reserve('j', 'full', { cpu: 7 });
    world.onNode('flaky', {
      type: 'NodeWentOffline',
      data: { lastSeenAt: second(0), reason: 'silent', at: second(60) },
    });
    world.onNode('flaky', { type: 'NodeWentOnline', data: { at: second(3600) } });
    const at = second(3600);
    const of = (id: string, duration?: number) =>
      value(world, id, 'availability', { estimate: duration === undefined ? {} : { duration } }, at);
    expect(of('steady')).toBeGreaterThan(of('flaky'));
    expect(of('steady')).toBeGreaterThan(of('full'));
    expect(of('lent', 3600)).toBe(of('steady', 3600));
    expect(of('lent', 7200)).toBeCloseTo(of('steady') - 0.1, 5);
    expect(of('lent')).toBeCloseTo(of('steady') - 0.2, 5);
  });
});

describe('queue and latency', () => {
  it('A-35 counts what waits there', () => {
    const world = new World();
    world.node('a');
    world.job('j');
    expect(value(world, 'a', 'queue')).toBe(0.93);
    const executionId = world.reserve('j', 'a');
    expect(score(world, 'a').ranked.factors.queue).toMatchObject({ raw: 1, value: 0.68 });
    world.onJob('j', { type: 'ExecutionStarted', data: { executionId, at: second(1) } });
    expect(value(world, 'a', 'queue')).toBe(0.93);
  });

  it('A-36 A-41 prefers the node that has the inputs already', () => {
    const world = new World();
    world.node('a');
    world.node('b');
    const inputs = [{ source: 'sha256:1', path: 'big', size: GIB }];
    world.job('j', { inputs });
    const executionId = world.reserve('j', 'b');
    world.onJob('j', { type: 'ExecutionStarted', data: { executionId, at: second(1) } });
    expect(value(world, 'a', 'queue', { inputs })).toBe(0.78);
    expect(value(world, 'b', 'queue', { inputs })).toBe(0.93);
  });

  it('A-36 A-41 counts what the agent says that it keeps, also after it let go of it', () => {
    const world = new World();
    for (const id of ['told', 'silent', 'empty']) world.node(id);
    const inputs = [
      { source: 'sha256:aa', path: 'a', size: GIB },
      { source: 'https://x.example/b', path: 'b', sha256: 'bb', size: GIB },
      { source: 'https://x.example/c', path: 'c', size: GIB },
      { source: 'sha256:dd', path: 'small', size: 1024 ** 2 - 1 },
    ];
    const cache = (node: string, added: readonly string[], removed: readonly string[] = []): void =>
      world.onNode(node, { type: 'NodeCacheChanged', data: { added, removed, at: second(2) } });
    const there = (node: string): unknown => score(world, node, { inputs }).ranked.inputs;
    cache('told', ['aa', 'bb', 'ee']);
    cache('empty', []);
    world.job('j', { inputs, count: 2 });
    world.onJob('j', { type: 'ExecutionStarted', data: { executionId: world.reserve('j', 'silent'), at: second(3) } });
    world.onJob('j', {
      type: 'ExecutionStarted',
      data: { executionId: world.reserve('j', 'empty', undefined, 1), at: second(3) },
    });
    expect(there('told')).toEqual({ of: 3, present: 2, missing: GIB });
    expect(there('silent')).toEqual({ of: 3, present: 2, missing: GIB });
    expect(there('empty')).toEqual({ of: 3, present: 0, missing: 3 * GIB });
    expect(value(world, 'told', 'queue', { inputs })).toBe(0.78);

    cache('told', [], ['aa']);
    cache('silent', ['aa']);
    expect(there('told')).toEqual({ of: 3, present: 1, missing: 2 * GIB });
    expect(there('silent')).toEqual({ of: 3, present: 1, missing: 2 * GIB });
  });

  it('A-36 counts no input that no node tells of, and one of unknown size as 64 MiB', () => {
    const world = new World();
    world.node('a');
    const small = [{ source: 'sha256:aa', path: 'a', size: 1000 }];
    expect(score(world, 'a', { inputs: small }).ranked).not.toHaveProperty('inputs');
    const unknown = [{ source: 'job:j1/x', path: 'x' }];
    expect(score(world, 'a', { inputs: unknown }).ranked.inputs).toEqual({ of: 1, present: 0, missing: GIB / 16 });
  });

  it('A-36 prefers the nearer class; a node of which it is not known is neither the best nor the worst', () => {
    const world = new World();
    for (const id of ['local', 'near', 'far', 'remote', 'unknown']) world.node(id);
    for (const latencyClass of ['local', 'near', 'far', 'remote'] as const) {
      world.onNode(latencyClass, {
        type: 'NodeLatencyChanged',
        data: { latencyClass, roundTrip: 0.1, at: second(1) },
      });
    }
    const values = Object.fromEntries(
      world.plan().decision.ranking.map(({ nodeId, factors }) => [nodeId, factors.queue.value]),
    );
    expect(values).toEqual({ local: 1, near: 0.96, unknown: 0.93, far: 0.9, remote: 0.84 });
  });
});

describe('cost policy', () => {
  const priced = (): World => {
    const world = new World();
    world.node('free');
    world.node('cheap', { policy: { price: { cpuHour: 1 } } });
    world.node('dear', { policy: { price: { cpuHour: 4 } } });
    return world;
  };

  it('A-37 against the budget: what of it is left', () => {
    const spec = { budget: { maxCost: 8 }, estimate: { duration: 3600 } };
    expect(['free', 'cheap', 'dear'].map((id) => value(priced(), id, 'cost', spec))).toEqual([1, 0.875, 0.5]);
  });

  it('A-37 without a budget: against the cheapest that has a price', () => {
    expect(['free', 'cheap', 'dear'].map((id) => value(priced(), id, 'cost'))).toEqual([1, 0.5, 0.125]);
  });

  it('A-37 counts GPUs by share and memory by GiB', () => {
    const world = new World();
    const gpus = [{ id: 'g', model: 'T4', memory: 16 * GIB }];
    world.node('a', { inventory: { gpus }, policy: { price: { cpuHour: 1, gpuHour: 10, memoryGiBHour: 0.5 } } });
    const spec = {
      ...needs({ cpu: 2, memory: 4 * GIB, gpu: { count: 1, share: 0.5, models: [] } }),
      estimate: { duration: 7200 },
    };
    expect(score(world, 'a', spec).ranked.factors.cost.raw).toBe((2 + 5 + 2) * 2);
  });
});

describe('preferences', () => {
  const racks = (): World => {
    const world = new World();
    world.node('a', { inventory: { labels: { rack: 'a1' }, cpu: 8 } });
    world.node('b', { inventory: { labels: { rack: 'b1' }, cpu: 16 } });
    return world;
  };
  const prefer = (rack: string, weight: number) => ({ preferences: [{ constraint: `rack = ${rack}`, weight }] });

  it('A-60 a preference about B leaves the factors of A as they were', () => {
    const world = racks();
    expect(score(world, 'a', prefer('b1', 100)).ranked).toEqual(score(world, 'a').ranked);
    expect(score(world, 'b', prefer('b1', 100)).ranked.score).toBeGreaterThan(score(world, 'b').ranked.score);
  });

  it('N-03 A-60 a preference moves a node up without making it compatible', () => {
    const world = racks();
    expect(world.plan().nodeId).toBe('a');
    expect(world.plan(prefer('b1', 50)).nodeId).toBe('b');
    expect(world.plan({ ...prefer('b1', 100), constraints: ['rack = a1'] }).nodeId).toBe('a');
  });

  it('A-60 a preference lifts values by a part of their way to 1 and leaves raw measures', () => {
    const { ranked, lift } = score(racks(), 'a', prefer('a1', 50));
    const plain = score(racks(), 'a').ranked;
    expect(lift).toBe(0.25);
    expect(ranked.factors.resources.raw).toBe(plain.factors.resources.raw);
    expect(ranked.score).toBeCloseTo(plain.score + (1 - plain.score) * 0.25, 5);
  });
});
