import { describe, expect, it } from '@jest/globals';
import { FACTORS } from '#jobs';
import { aGpu, second } from '#testing';
import { ALGORITHM, assume, decide, explainDecision, explainNode, reasonsDigest } from './index.js';
import { contextAt, GIB, primaryReasons, World } from './testing/world.js';

const large = { resources: { cpu: 1, memory: 64 * GIB, disk: 0, ioSlots: 0 } };

describe('a decision', () => {
  it('A-13 A-16 A-17 places on exactly one node, the best of the eligible', () => {
    const world = new World();
    world.node('large', { inventory: { cpu: 64, memory: 256 * GIB } });
    world.node('small');
    const { decision, nodeId, contract } = world.plan();
    expect({ nodeId, outcome: decision.outcome }).toEqual({ nodeId: 'small', outcome: 'placed' });
    expect(decision).toMatchObject({ winner: 'small', runnerUp: 'large', contract, wakesOn: [] });
    expect(decision.ranking.map((ranked) => ranked.nodeId)).toEqual(['small', 'large']);
    expect(decision.margin).toBeCloseTo(decision.ranking[0]!.score - decision.ranking[1]!.score, 9);
  });

  it('A-31 A-32 A-65 ranks only what passed every filter', () => {
    const world = new World();
    world.node('fits');
    world.node('denied', { policy: { deny: { accounts: ['ana'] } } });
    world.node('other', { inventory: { architecture: 'arm64' } });
    const { decision } = world.plan({ architecture: ['x64'] });
    expect(decision.ranking.map((ranked) => ranked.nodeId)).toEqual(['fits']);
    expect(decision).toMatchObject({ considered: 3, eligible: 1 });
  });

  it('A-11 A-12 A-15 asks who may and who can, and takes only a node of which both hold', () => {
    const world = new World();
    world.node('may-not', { policy: { deny: { projects: ['demo'] } } });
    world.node('cannot', { inventory: { architecture: 'arm64' } });
    world.node('neither', { inventory: { architecture: 'arm64' }, policy: { allow: { institutions: ['mit'] } } });
    const need = { architecture: ['x64'] };
    expect(world.plan(need).decision).toMatchObject({
      outcome: 'rejected',
      filtered: [
        { reason: 'policy.institution', side: 'owner', nodes: 1, also: 0 },
        { reason: 'policy.project', side: 'owner', nodes: 1, also: 0 },
        { reason: 'architecture', side: 'job', nodes: 1, also: 1 },
      ],
    });
    world.node('both');
    expect(world.plan(need)).toMatchObject({ nodeId: 'both', decision: { considered: 4, eligible: 1 } });
  });

  it('A-09 each job gets the resource that is right for it', () => {
    const world = new World();
    world.node('gpus', { inventory: { gpus: [aGpu({ id: 'g0', model: 'A100' })] } });
    world.node('arm', { inventory: { architecture: 'arm64' } });
    world.node('large', { inventory: { cpu: 64, memory: 512 * GIB } });
    world.node('small', { inventory: { cpu: 2, memory: 4 * GIB } });
    const plain = { cpu: 1, memory: GIB, disk: 0, ioSlots: 0 };
    expect(world.plan({ resources: { ...plain, gpu: { count: 1, share: 1, models: ['A100'] } } }).nodeId).toBe('gpus');
    expect(world.plan({ architecture: ['arm64'] }).nodeId).toBe('arm');
    expect(world.plan({ resources: { ...plain, memory: 256 * GIB } }).nodeId).toBe('large');
    expect(world.plan({ resources: plain, architecture: ['x64'] }).nodeId).toBe('small');
  });

  it('A-14 A-61 a powerful node that is not compatible loses to a weak one that is', () => {
    const world = new World();
    world.node('weak', { inventory: { cpu: 1, memory: GIB } });
    world.node('strong', { inventory: { cpu: 128, memory: 1024 * GIB, applications: [] } });
    expect(world.plan({ application: { name: 'node', version: '>=20' } }).nodeId).toBe('weak');
  });

  it('A-88 records all that it was made from', () => {
    const world = new World();
    world.node('a');
    const { decision } = world.plan();
    expect(decision).toMatchObject({
      number: 1,
      position: String(world.cluster.position),
      time: second(0),
      assumed: [],
      versions: { algorithm: ALGORITHM, weights: 'profiles/1' },
      profile: 'balanced',
    });
    const { factors, score } = decision.ranking[0]!;
    const total = FACTORS.reduce((sum, factor) => sum + factors[factor].weight, 0);
    const sum = FACTORS.reduce((so, factor) => so + factors[factor].weight * factors[factor].value, 0);
    expect(score).toBeCloseTo(sum / total, 8);
    expect(JSON.parse(JSON.stringify(decision))).toEqual(decision);
  });

  it('A-39 takes reservations in flight for granted and names them', () => {
    const world = new World();
    world.node('a', { inventory: { cpu: 1 } });
    const contract = { cpu: 1, memory: GIB, disk: 0, ioSlots: 0, gpus: [] };
    assume(world.cluster, { executionId: 'x.1', nodeId: 'a', jobId: 'x', project: 'demo', contract });
    expect(world.plan().decision).toMatchObject({ outcome: 'deferred', assumed: ['x.1'] });
  });

  it('A-20 defers what may fit later and says what would wake it', () => {
    const world = new World();
    world.node('a', { inventory: { memory: 64 * GIB } });
    world.job('j');
    world.reserve('j', 'a', { memory: GIB });
    world.node('b');
    const { decision, nodeId } = world.plan(large);
    expect(nodeId).toBeUndefined();
    expect(primaryReasons({ decision })).toEqual(['capacity.memory', 'capacity.memory!']);
    expect(decision).toMatchObject({
      outcome: 'deferred',
      wakesOn: ['CapacityReduced', 'CapacityReleased', 'NodeEnrolled', 'NodeInventoryChanged'],
    });
  });

  it('A-82 rejects only when every enrolled node is ruled out for ever, and never without any node', () => {
    const world = new World();
    expect(world.plan().decision).toMatchObject({ outcome: 'deferred', considered: 0, wakesOn: ['NodeEnrolled'] });
    world.node('a');
    expect(world.plan(large).decision).toMatchObject({
      outcome: 'rejected',
      wakesOn: ['NodeEnrolled', 'NodeInventoryChanged'],
    });
    world.node('b', { inventory: { memory: 64 * GIB } });
    world.onNode('b', { type: 'NodeCordoned', data: { reason: 'disk', at: second(1) } });
    expect(world.plan(large).decision.outcome).toBe('deferred');
  });

  it('A-45 goes elsewhere first, whatever the score, and back when there is nothing else', () => {
    const world = new World();
    world.node('good');
    world.node('poor', { inventory: { cpu: 64, memory: 256 * GIB } });
    expect(world.plan().nodeId).toBe('good');
    const { decision } = world.plan({}, second(0), { avoid: new Set(['good']) });
    expect(decision).toMatchObject({ winner: 'poor', runnerUp: 'good', margin: 0 });
    expect(explainDecision(decision).join(' ')).toContain('elsewhere comes first');
    expect(world.plan({}, second(0), { avoid: new Set(['good', 'poor']) }).nodeId).toBe('good');
  });

  it('A-21 breaks ties by job and node, so that equal jobs do not all meet on one node', () => {
    const world = new World();
    for (let count = 0; count < 8; count += 1) world.node(`n${count}`);
    const winners = new Set<string>();
    for (let count = 0; count < 32; count += 1)
      winners.add(world.plan({}, second(0), { jobId: `job-${count}` }).nodeId!);
    expect(winners.size).toBeGreaterThan(3);
    expect(world.plan({}, second(0), { jobId: 'x' }).nodeId).toBe(world.plan({}, second(0), { jobId: 'x' }).nodeId);
  });

  it('A-88 keeps the five best, the winner first', () => {
    const world = new World();
    for (let count = 0; count < 15; count += 1) world.node(`n${count}`, { inventory: { cpu: 4 + count } });
    const { decision } = world.plan();
    expect(decision.ranking).toHaveLength(5);
    expect(decision.ranking[0]!.nodeId).toBe(decision.winner);
    expect(decision.ranking[1]!.nodeId).toBe(decision.runnerUp);
    expect(decision.eligible).toBe(15);
  });

  it('A-88 has a digest that changes with the reasons and not with the counts', () => {
    const world = new World();
    world.node('a');
    const first = world.plan(large).decision;
    world.node('b');
    const more = world.plan(large).decision;
    expect(reasonsDigest(more)).toBe(reasonsDigest(first));
    expect(reasonsDigest(first)).toBe('rejected capacity.memory!');
    world.onNode('b', { type: 'NodeCordoned', data: { reason: 'disk', at: second(1) } });
    expect(reasonsDigest(world.plan(large).decision)).toBe('rejected capacity.memory! node.cordoned');
  });
});

describe('explanations', () => {
  it('A-88 A-89 say where, by how much and because of what', () => {
    const world = new World();
    world.node('lab-a');
    world.node('lab-b', { inventory: { cpu: 64, memory: 256 * GIB } });
    world.node('lab-c', { inventory: { architecture: 'arm64' } });
    expect(explainDecision(world.plan({ architecture: ['x64'] }).decision)).toEqual([
      'Placed on lab-a with score 0.711, the best of 2 eligible of 3 nodes.',
      'Ahead of runner-up lab-b by 0.019: resources +0.019.',
      'Profile balanced (derived: nothing in the estimate stands out).',
      'Left out: 1 node: another architecture (asked x64, best arm64; never)',
    ]);
  });

  it('A-88 tell a node that is ruled out for ever by what rules it out, not by what stopped it first', () => {
    const world = new World();
    world.node('lab-a', { inventory: { memory: 48 * GIB } });
    world.onNode('lab-a', { type: 'NodeCordoned', data: { reason: 'lent to somebody', at: second(1) } });
    const { decision } = world.plan(large);
    expect(decision).toMatchObject({
      outcome: 'rejected',
      possible: 0,
      wakesOn: ['NodeEnrolled', 'NodeInventoryChanged'],
    });
    expect(explainDecision(decision)).toEqual([
      'Cannot be placed: none of 1 node can ever take it, unless the node or the job changes.',
      'Why not: 1 node: not enough memory (asked 64 GiB, best 48 GiB; never)',
      'Only NodeEnrolled, NodeInventoryChanged can change that.',
    ]);
    expect(JSON.stringify(decision)).not.toContain('lent');
    expect(explainNode(world.request(large), world.cluster, { time: second(2) }, 'lab-a')).toMatchObject({
      reasons: [
        { reason: 'node.cordoned', has: 'lent to somebody', lifted: 'the cordon is ended' },
        { reason: 'capacity.memory', never: true, lifted: 'a larger node comes' },
      ],
    });
  });

  it('A-88 do not call a miss near that a "never" behind it rules out', () => {
    const world = new World();
    world.node('lab-a', { inventory: { memory: 48 * GIB } });
    world.onNode('lab-a', { type: 'NodeCordoned', data: { reason: 'disk', at: second(1) } });
    world.node('lab-b', { inventory: { memory: 96 * GIB } });
    world.onNode('lab-b', {
      type: 'NodeWentOffline',
      data: { lastSeenAt: second(1), reason: 'silent', at: second(2) },
    });
    const lines = explainDecision(world.plan(large).decision);
    expect(lines.filter((line) => line.startsWith('Nearest miss'))).toEqual([]);
  });

  it('A-88 say why a job waits, what came nearest and what would wake it', () => {
    const world = new World();
    world.node('lab-a', { inventory: { memory: 64 * GIB } });
    world.job('j');
    world.reserve('j', 'lab-a', { memory: 16 * GIB });
    world.node('lab-b', { policy: { deny: { accounts: ['ana'] } } });
    expect(explainDecision(world.plan(large).decision)).toEqual([
      'Waiting: at 2026-01-01T00:00:00.000Z none of 2 nodes could take it, but not all are ruled out for ever.',
      'Why not: 1 node: the owner does not accept the account (asked ana; never)',
      'Why not: 1 node: not enough memory (asked 64 GiB, best 48 GiB; not now)',
      'Nearest miss: 1 node came as far as "not enough memory" (asked 64 GiB, best 48 GiB); passes when memory is freed.',
      'Looked at again on: CapacityReduced, CapacityReleased, NodeEnrolled, NodeInventoryChanged, NodePolicyChanged.',
    ]);
  });

  it('A-88 say that nothing can take it, and that no node has come yet', () => {
    const world = new World();
    expect(explainDecision(world.plan(large).decision)[0]).toBe('Waiting: no node has enrolled yet.');
    world.node('lab-a');
    expect(explainDecision(world.plan(large).decision)).toEqual([
      'Cannot be placed: none of 1 node can ever take it, unless the node or the job changes.',
      'Why not: 1 node: not enough memory (asked 64 GiB, best 16 GiB; never)',
      'Only NodeEnrolled, NodeInventoryChanged can change that.',
    ]);
  });

  it('A-88 tell of one node why there, why not there, or that it is unknown', () => {
    const world = new World();
    world.node('a', { policy: { maxDuration: 60 } });
    world.node('b');
    const explain = (nodeId: string, spec = {}) =>
      explainNode(world.request(spec), world.cluster, contextAt(second(0)), nodeId);
    expect(explain('c')).toEqual({ kind: 'unknown', nodeId: 'c' });
    expect(explain('a', large)).toMatchObject({
      kind: 'filtered',
      reasons: [
        { reason: 'policy.max-duration', side: 'owner', never: true, asked: 'unknown', has: '1 min' },
        { reason: 'capacity.memory', side: 'job', never: true, asked: '64 GiB', has: '16 GiB' },
      ],
    });
    expect(explain('b')).toMatchObject({ kind: 'eligible', place: 1, eligible: 1, avoided: false, lift: 0 });
  });

  it('A-89 explain an older decision from its state, whatever has happened since', () => {
    const world = new World();
    world.node('a');
    const request = world.request(large);
    const { decision } = decide(request, world.cluster, contextAt(second(0)));
    const lines = explainDecision(decision);
    world.node('b', { inventory: { memory: 64 * GIB } });
    expect(explainDecision(JSON.parse(JSON.stringify(decision)))).toEqual(lines);
  });
});
