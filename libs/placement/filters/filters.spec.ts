import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import type { JobSpec } from '#jobs';
import type { Inventory, Policy } from '#nodes';
import { aContract, second } from '#testing';
import {
  assume,
  explainDecision,
  explainNode,
  matchingNodes,
  MOST_UNCONFIRMED,
  neverReasons,
  requestOf,
  smallestChange,
  unassume,
} from '../index.js';
import type { PlacementRequest } from '../index.js';
import { reasonsPage } from './reasons-page.js';
import { contextAt, ending, GIB, primaryReasons, reasonsOn, World } from '../testing/world.js';

interface Case {
  readonly spec?: Partial<JobSpec>;
  readonly inventory?: Partial<Inventory>;
  readonly policy?: Policy;
  readonly request?: Partial<PlacementRequest>;
  readonly time?: string;
}

/** All failing reasons of the one node there is. */
const reasons = ({ spec, inventory, policy, request, time = second(0) }: Case): string[] => {
  const world = new World();
  world.node('a', { ...(inventory && { inventory }), ...(policy && { policy }) });
  return reasonsOn(explainNode(world.request(spec, request), world.cluster, contextAt(time), 'a'));
};

const gpu = (count: number, change: Partial<NonNullable<JobSpec['resources']['gpu']>> = {}): Partial<JobSpec> => ({
  resources: { cpu: 1, memory: GIB, disk: 0, ioSlots: 0, gpu: { count, share: 1, models: [], ...change } },
});

const needs = (change: Partial<JobSpec['resources']>): Partial<JobSpec> => ({
  resources: { cpu: 1, memory: GIB, disk: 0, ioSlots: 0, ...change },
});

describe('permission', () => {
  it('A-23 an account that is not a member of the project waits for the project to change', () => {
    const world = new World();
    world.node('a');
    world.project({ members: ['bea'] });
    expect(primaryReasons(world.plan())).toEqual(['permission.account']);
    expect(world.plan().decision).toMatchObject({
      outcome: 'deferred',
      wakesOn: ['NodeEnrolled', 'ProjectConfigured'],
    });
    expect(primaryReasons(world.plan({}, second(0), { account: 'bea' }))).toEqual([]);
  });

  it('A-24 a project that does not exist may nothing', () => {
    expect(reasons({ request: { project: 'nobody' } })).toEqual(['permission.project']);
  });

  it.each<[string, Policy, string[]]>([
    ['A-25 denies the institution', { deny: { institutions: ['usp'] } }, ['policy.institution!']],
    ['A-25 allows another institution only', { allow: { institutions: ['mit'] } }, ['policy.institution!']],
    ['A-25 allows the institution', { allow: { institutions: ['usp'] } }, []],
    ['A-24 denies the project', { deny: { projects: ['demo'] } }, ['policy.project!']],
    ['A-23 denies the account', { deny: { accounts: ['ana'] } }, ['policy.account!']],
    ['A-26 allows nobody: the list is empty', { allow: { accounts: [] } }, ['policy.account!']],
    [
      'A-26 denies what it allows: deny wins',
      { allow: { projects: ['demo'] }, deny: { projects: ['demo'] } },
      ['policy.project!'],
    ],
    ['A-26 denies another', { deny: { accounts: ['bea'] } }, []],
  ])('%s', (_title, policy, expected) => {
    expect(reasons({ policy })).toEqual(expected);
  });

  it('A-26 an owner may lend to some applications only; a job without one is none of them', () => {
    const policy = { allow: { applications: ['node'] } };
    expect(reasons({ policy, spec: { application: { name: 'node' } } })).toEqual([]);
    expect(reasons({ policy })).toEqual(['policy.application!']);
  });

  it('A-25 the institution is that of the project as it is now', () => {
    const world = new World();
    world.node('a', { policy: { deny: { institutions: ['mit'] } } });
    expect(primaryReasons(world.plan())).toEqual([]);
    world.project({ institution: 'mit' });
    expect(primaryReasons(world.plan())).toEqual(['policy.institution!']);
  });

  it('A-82 an unknown estimate never meets a limit', () => {
    const policy = { maxDuration: 3600 };
    expect(reasons({ policy })).toEqual(['policy.max-duration!']);
    expect(reasons({ policy, spec: { estimate: { duration: 3601 } } })).toEqual(['policy.max-duration!']);
    expect(reasons({ policy, spec: { estimate: { duration: 3600 } } })).toEqual([]);
  });

  it('A-26 a window must be open, and long enough for the estimate', () => {
    const policy: Policy = {
      windows: [
        {
          days: ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'],
          from: '18:00',
          to: '08:00',
          timeZone: 'America/Sao_Paulo',
        },
      ],
    };
    const at = (clock: string, duration?: number) =>
      reasons({
        policy,
        time: `2026-03-04T${clock}:00.000Z`,
        spec: { estimate: duration === undefined ? {} : { duration } },
      });
    expect(at('12:00', 3600)).toEqual(['policy.window']);
    expect(at('22:00', 3600)).toEqual([]);
    expect(at('10:30', 3600)).toEqual(['policy.window-remaining']);
    expect(at('10:30', 1800)).toEqual([]);
    expect(at('10:30')).toEqual([]);
    expect(at('22:00', 20 * 3600)).toEqual(['policy.window!', 'policy.window-remaining!']);
    expect(reasons({ policy: { windows: [] } })).toEqual(['policy.window!']);
  });

  it('A-26 a closed window tells when it opens', () => {
    const world = new World();
    world.node('a', { policy: { windows: [{ days: ['thu'], from: '10:00', to: '12:00', timeZone: 'UTC' }] } });
    const decision = world.plan({ estimate: { duration: 60 } }, '2026-03-04T09:00:00.000Z').decision;
    expect(decision).toMatchObject({ outcome: 'deferred', wakesAt: '2026-03-05T10:00:00.000Z' });
    const short = world.plan({ estimate: { duration: 3600 } }, '2026-03-05T11:30:00.000Z').decision;
    expect(short.filtered).toMatchObject([{ reason: 'policy.window-remaining', asked: '1 h', best: '30 min' }]);
    expect(short.wakesAt).toBe('2026-03-12T10:00:00.000Z');
  });

  describe('maintenance', () => {
    const maintenance = [{ from: '2026-03-05T10:00:00.000Z', until: '2026-03-05T12:00:00.000Z', reason: 'new disks' }];
    const at = (clock: string, spec: Partial<JobSpec> = {}) =>
      reasons({ policy: { maintenance }, time: `2026-03-05T${clock}:00.000Z`, spec });

    it('A-26 nothing begins on a node while its owner maintains it, and it is never for ever', () => {
      expect([at('09:59'), at('10:00'), at('11:59'), at('12:00')]).toEqual([
        [],
        ['policy.maintenance'],
        ['policy.maintenance'],
        [],
      ]);
      expect(reasons({ policy: { maintenance: [] } })).toEqual([]);
    });

    it('A-26 what would reach into one does not begin: by its estimate, else by the time that it may take', () => {
      const run = (seconds: number) => ({ timeouts: { confirm: 15, run: seconds } });
      expect(at('09:00', { estimate: { duration: 3600 } })).toEqual([]);
      expect(at('09:00', { estimate: { duration: 3601 } })).toEqual(['policy.maintenance-ahead']);
      expect(at('09:00', run(3601))).toEqual(['policy.maintenance-ahead']);
      expect(at('09:00', { ...run(7200), estimate: { duration: 60 } })).toEqual([]);
      expect(at('10:30', run(3601))).toEqual(['policy.maintenance']);
      expect(at('12:00', run(86_400))).toEqual([]);
    });

    it('A-26 N-04 is told with its times, on the side of the owner, and looked at again when it is over', () => {
      const world = new World();
      world.node('a', { policy: { maintenance } });
      const plan = (time: string, spec: Partial<JobSpec> = {}) => world.plan(spec, time).decision;
      const during = plan('2026-03-05T11:00:00.000Z');
      expect(during).toMatchObject({ outcome: 'deferred', wakesAt: maintenance[0]!.until });
      expect(during.filtered).toMatchObject([
        { reason: 'policy.maintenance', side: 'owner', never: false, best: maintenance[0]!.until },
      ]);
      const before = plan('2026-03-05T09:30:00.000Z', { estimate: { duration: 3600 } });
      expect(before).toMatchObject({ outcome: 'deferred', wakesAt: maintenance[0]!.until });
      expect(before.filtered).toMatchObject([
        { reason: 'policy.maintenance-ahead', side: 'owner', asked: '1 h', best: maintenance[0]!.from },
      ]);
      expect(explainDecision(before).join(' ')).toContain('a maintenance begins before the job would be over');
    });

    it('A-26 a shorter estimate would let the job in', () => {
      const world = new World();
      world.node('a', { policy: { maintenance } });
      const request = world.request({ estimate: { duration: 7200 } });
      const change = smallestChange(request, world.cluster, { time: '2026-03-05T09:00:00.000Z' });
      expect(change).toMatchObject({ changes: [{ requirement: 'estimate.duration', to: '1 h' }] });
    });
  });

  it('S-11 a job that takes longer than any owner lends a node is told so, with the longest that there is', () => {
    const world = new World();
    const night = { days: ['mon' as const], from: '18:00', to: '08:00', timeZone: 'UTC' };
    world.node('a', { policy: { windows: [night] } });
    world.node('b', { policy: { windows: [{ ...night, to: '22:00' }] } });
    world.node('c', { policy: { maxDuration: 7200 } });
    const never = (duration: number) =>
      neverReasons(world.request({ estimate: { duration } }), world.cluster, 0).map(({ reason, asked, best }) => ({
        reason,
        asked,
        best,
      }));
    expect(never(20 * 3600)).toEqual([
      { reason: 'policy.max-duration', asked: '20 h', best: '2 h' },
      { reason: 'policy.window', asked: '20 h', best: '14 h' },
    ]);
    expect(never(14 * 3600)).toEqual([]);
  });

  it("A-26 a project's share of a node is bounded: never over it, and not now when it is used up", () => {
    const world = new World();
    world.node('a', { inventory: { cpu: 8 }, policy: { maxShare: { demo: 0.5 } } });
    expect(primaryReasons(world.plan(needs({ cpu: 4.001 })))).toEqual(['policy.max-share!']);
    expect(primaryReasons(world.plan(needs({ cpu: 4 })))).toEqual([]);
    world.job('j');
    world.reserve('j', 'a', { cpu: 1 });
    expect(primaryReasons(world.plan(needs({ cpu: 4 })))).toEqual(['policy.max-share']);
  });

  it('A-37 a price over the budget, or one that cannot be known, is refused', () => {
    const policy = { price: { cpuHour: 2 } };
    const spec = { ...needs({ cpu: 2 }), budget: { maxCost: 5 } };
    expect(reasons({ policy, spec: { ...spec, estimate: { duration: 3600 } } })).toEqual([]);
    expect(reasons({ policy, spec: { ...spec, estimate: { duration: 5400 } } })).toEqual(['budget.price!']);
    expect(reasons({ policy, spec })).toEqual(['budget.unknown!']);
    expect(reasons({ spec })).toEqual([]);
  });

  it('A-24 quotas bound what a project holds over all nodes', () => {
    const world = new World();
    world.node('a');
    world.node('b');
    world.project({ quota: { cpu: 2, memory: 4 * GIB, gpus: 1, jobs: 1 } });
    expect(primaryReasons(world.plan(needs({ cpu: 3 })))).toEqual(['quota.cpu']);
    world.job('j', { count: 2 });
    world.reserve('j', 'a', { cpu: 1.5, memory: 2 * GIB });
    const explained = explainNode(
      world.request(needs({ cpu: 1, memory: 3 * GIB })),
      world.cluster,
      contextAt(second(0)),
      'b',
    );
    expect(reasonsOn(explained)).toEqual(['quota.cpu', 'quota.memory', 'quota.jobs']);
    expect(primaryReasons(world.decide('j', second(0), 1))).toEqual(['quota.cpu']);
  });
});

describe('executor state', () => {
  it('A-27 A-81 an offline node waits for its return', () => {
    const world = new World();
    world.node('a');
    world.onNode('a', { type: 'NodeWentOffline', data: { lastSeenAt: second(0), reason: 'silent', at: second(15) } });
    expect(primaryReasons(world.plan())).toEqual(['node.offline']);
    expect(world.plan().decision.wakesOn).toContain('NodeWentOnline');
  });

  it('A-82 a node that enrolled but never spoke is not taken for online', () => {
    const world = new World();
    const inventory = {
      os: 'linux',
      architecture: 'x64',
      cpu: 8,
      memory: GIB,
      disk: 0,
      ioSlots: 1,
      gpus: [],
      applications: [],
      packages: [],
      labels: {},
    };
    const data = { nodeId: 'n', name: 'n', owner: 'o', institution: 'usp', inventory, policy: {}, at: second(0) };
    world.onNode('n', { type: 'NodeEnrolled', data });
    expect(primaryReasons(world.plan())).toEqual(['node.offline']);
  });

  it('A-81 a cordoned or draining node takes nothing new until that is ended', () => {
    const world = new World();
    world.node('a');
    world.onNode('a', { type: 'NodeCordoned', data: { reason: 'disk', at: second(1) } });
    world.onNode('a', { type: 'NodeDrainStarted', data: { reason: 'move', at: second(2) } });
    const explained = explainNode(world.request(), world.cluster, contextAt(second(3)), 'a');
    expect(explained).toMatchObject({
      reasons: [
        { reason: 'node.draining', has: 'move' },
        { reason: 'node.cordoned', has: 'disk' },
      ],
    });
    world.onNode('a', { type: 'NodeUncordoned', data: { at: second(3) } });
    expect(world.plan().nodeId).toBe('a');
  });

  it('A-22 a node that did not answer this job is left out until a time', () => {
    const world = new World();
    world.node('a');
    world.job('j');
    const executionId = world.reserve('j', 'a');
    world.release('a', executionId);
    world.onJob('j', { type: 'ReservationExpired', data: { executionId, confirmBy: second(15), at: second(15) } });
    const exclude = { nodeId: 'a', until: second(75) };
    const requeued = {
      partition: 0,
      cause: 'expired' as const,
      message: 'x',
      notBefore: second(15),
      exclude,
      at: second(15),
    };
    world.onJob('j', { type: 'JobRequeued', data: requeued });
    expect(world.decide('j', second(74)).decision).toMatchObject({ outcome: 'deferred', wakesAt: second(75) });
    expect(world.decide('j', second(75)).nodeId).toBe('a');
    expect(world.plan().nodeId).toBe('a');
  });

  it('A-22 a node that does not take three jobs in a row is set aside: 30 s, 60 s … 10 min, then gets one try', () => {
    const world = new World();
    world.node('a');
    world.run('a', 'declined', {}, second(1));
    world.run('a', 'expired', {}, second(2));
    expect(world.plan({}, second(2)).nodeId).toBe('a');
    let at = 3;
    for (const pause of [30, 60, 120, 240, 480, 600, 600]) {
      world.run('a', 'declined', {}, second(at));
      expect(primaryReasons(world.plan({}, second(at + pause - 1)))).toEqual(['node.set-aside']);
      expect(world.plan({}, second(at)).decision).toMatchObject({ outcome: 'deferred', wakesAt: second(at + pause) });
      at += pause;
      expect(world.plan({}, second(at)).nodeId).toBe('a');
    }
    world.job('try');
    const executionId = world.reserve('try', 'a', {}, 0, second(at));
    expect(primaryReasons(world.plan({}, second(at)))).toEqual(['node.set-aside']);
    expect(world.plan({}, second(at)).decision.wakesOn).toEqual(expect.arrayContaining(['ReservationConfirmed']));
    world.onJob('try', { type: 'ReservationConfirmed', data: { executionId, at: second(at) } });
    expect(world.plan({}, second(at)).nodeId).toBe('a');
    world.run('a', 'declined', {}, second(at));
    world.run('a', 'declined', {}, second(at));
    expect(world.plan({}, second(at)).nodeId).toBe('a');
  });

  it('A-22 one job that nobody takes does not take a node from the others, nor do tries that were on their way', () => {
    const world = new World();
    world.node('a');
    world.job('unwanted');
    for (let tries = 0; tries < 5; tries += 1) {
      const executionId = world.reserve('unwanted', 'a', {}, 0, second(tries));
      world.onJob('unwanted', {
        type: 'ReservationDeclined',
        data: { executionId, reason: 'x', at: second(tries) },
      });
      world.release('a', executionId, second(tries));
    }
    expect(world.plan({}, second(5)).nodeId).toBe('a');
    const onTheirWay = ['j1', 'j2', 'j3', 'j4'].map((jobId) => {
      world.job(jobId);
      return [jobId, world.reserve(jobId, 'a', {}, 0, second(6))] as const;
    });
    for (const [jobId, executionId] of onTheirWay) {
      world.onJob(jobId, { type: 'ReservationExpired', data: { executionId, confirmBy: second(20), at: second(20) } });
      world.release('a', executionId, second(20));
    }
    expect(world.plan({}, second(20)).decision.wakesAt).toBe(second(50));
  });

  describe('a node with as many reservations to confirm as it may have', () => {
    /** On a node `a` of its own pool; `j0` has the first of them. */
    const full = (): { world: World; executionIds: string[] } => {
      const world = new World();
      world.node('a', { inventory: { cpu: 1_000, memory: 1_000 * GIB, disk: 1_000 * GIB } });
      world.onNode('a', { type: 'NodePoolChanged', data: { pool: { name: 'p', discipline: 'fifo' }, at: second(0) } });
      const executionIds = Array.from({ length: MOST_UNCONFIRMED }, (_, index) => {
        expect(world.plan().nodeId).toBe('a');
        world.job(`j${index}`);
        return world.reserve(`j${index}`, 'a');
      });
      return { world, executionIds };
    };

    it('A-84 A-88 takes no more until it confirms one', () => {
      const { world, executionIds } = full();
      const { decision } = world.plan();
      expect(decision).toMatchObject({
        outcome: 'deferred',
        filtered: [{ reason: 'node.unconfirmed', side: 'system', never: false, nodes: 1 }],
        wakesOn: expect.arrayContaining(['CapacityReleased', 'ReservationConfirmed']),
        lines: [{ pool: 'p', hold: { nodeId: 'a', from: second(0) } }],
      });
      expect(explainDecision(decision)).toContain(
        'Why not: 1 node: has as many reservations to confirm as it may have at once (not now)',
      );
      expect(explainNode(world.request(), world.cluster, contextAt(second(0)), 'a')).toMatchObject({
        reasons: [{ reason: 'node.unconfirmed', has: String(MOST_UNCONFIRMED) }],
      });
      expect(smallestChange(world.request(), world.cluster, { time: second(0) })).toMatchObject({
        kind: 'others',
        reasons: [{ reason: 'node.unconfirmed', side: 'system', lifted: 'it confirms one, or one of them ends' }],
      });
      const [executionId = ''] = executionIds;
      world.onJob('j0', { type: 'ReservationConfirmed', data: { executionId, at: second(1) } });
      expect(world.plan().nodeId).toBe('a');
      // What is confirmed counts no more, however it goes on.
      world.onJob('j0', { type: 'ExecutionStarted', data: { executionId, at: second(1) } });
      world.release('a', executionId);
      world.job('next');
      world.reserve('next', 'a');
      expect(primaryReasons(world.plan())).toEqual(['node.unconfirmed']);
    });

    it.each(['declined', 'expired', 'cancelled', 'node-lost'] as const)(
      'A-84 takes another when one is %s and given back',
      (outcome) => {
        const { world, executionIds } = full();
        const [executionId = ''] = executionIds;
        world.onJob('j0', ending(executionId, outcome, second(1)));
        expect(primaryReasons(world.plan())).toEqual(['node.unconfirmed']);
        world.release('a', executionId);
        expect(world.plan().nodeId).toBe('a');
      },
    );

    it('A-84 counts what is on its way to it, and keeps what belongs to it waiting', () => {
      const { world, executionIds } = full();
      const [executionId = ''] = executionIds;
      world.release('a', executionId);
      const claim = { executionId: 'other.1', jobId: 'other', nodeId: 'a', project: 'demo', contract: aContract() };
      assume(world.cluster, claim);
      expect(primaryReasons(world.plan())).toEqual(['node.unconfirmed']);
      expect(primaryReasons(world.plan({}, second(0), { target: 'a' }))).toEqual(['node.unconfirmed']);
      expect(matchingNodes(world.request({ type: 'daemon' }), world.cluster, 0).nodeIds).toEqual(['a']);
      unassume(world.cluster, 'other.1');
      expect(world.plan().nodeId).toBe('a');
    });
  });

  it('A-34 a node that fails everything gets one trial job, and more once it succeeds', () => {
    const world = new World();
    world.node('a');
    for (let count = 0; count < 3; count += 1) world.run('a', 'infrastructure');
    expect(world.plan().nodeId).toBe('a');
    world.job('trial');
    const executionId = world.reserve('trial', 'a');
    expect(primaryReasons(world.plan())).toEqual(['node.probation']);
    world.release('a', executionId);
    world.run('a', 'success');
    world.job('other');
    world.reserve('other', 'a');
    expect(world.plan().nodeId).toBe('a');
  });

  it.each(['service', 'daemon'] as const)(
    'A-34 S-05 a trial of a %s, which never ends, is over when it has begun',
    (type) => {
      const world = new World();
      world.node('a');
      for (let count = 0; count < 3; count += 1) world.run('a', 'infrastructure');
      world.job('trial', { type });
      const executionId = world.reserve('trial', 'a');
      expect(primaryReasons(world.plan())).toEqual(['node.probation']);
      expect(world.plan().decision.wakesOn).toContain('ExecutionStarted');
      world.onJob('trial', { type: 'ExecutionStarted', data: { executionId, at: second(3) } });
      expect(world.plan().nodeId).toBe('a');
    },
  );

  it('A-34 where one application fails, others go on', () => {
    const world = new World();
    world.node('a');
    const r = { application: { name: 'node' } };
    for (let count = 0; count < 3; count += 1) {
      world.run('a', 'infrastructure', r);
      world.run('a', 'success');
    }
    world.job('trial', r);
    world.reserve('trial', 'a');
    expect(primaryReasons(world.plan(r))).toEqual(['node.probation']);
    expect(world.plan().nodeId).toBe('a');
  });

  it('A-81 S-05 a part with a target goes to that node or waits for it, whatever others there are', () => {
    const world = new World();
    world.node('a');
    world.node('b');
    world.job('d', { type: 'daemon' });
    world.targets('d', ['b', 'a']);
    expect(world.decide('d')).toMatchObject({ nodeId: 'b', decision: { considered: 1, eligible: 1, target: 'b' } });
    expect(world.decide('d', second(0), 1).nodeId).toBe('a');
    world.onNode('b', { type: 'NodeCordoned', data: { reason: 'disk', at: second(1) } });
    const { decision } = world.decide('d');
    expect(decision).toMatchObject({ outcome: 'deferred', considered: 1, filtered: [{ reason: 'node.cordoned' }] });
    expect(explainDecision(decision)[0]).toMatch(/^Waiting for b, which this part of the job belongs to/);
  });

  it('S-05 a part with a target tells of another node that it has a part of its own', () => {
    const world = new World();
    world.node('a');
    world.node('b');
    world.job('d', { type: 'daemon' });
    world.targets('d', ['b', 'a']);
    const request = requestOf(world.cluster.jobs.get('d')!, 0);
    const explained = (nodeId: string) => explainNode(request, world.cluster, { time: second(0) }, nodeId);
    expect(explained('a')).toMatchObject({ kind: 'filtered', reasons: [{ reason: 'node.not-its-own', asked: 'b' }] });
    expect(explained('b')).toMatchObject({ kind: 'eligible', place: 1, eligible: 1 });
  });
});

describe('software', () => {
  const inventory: Partial<Inventory> = {
    applications: [
      { name: 'node', version: '18.2.0' },
      { name: 'node', version: '24.1.0' },
      { name: 'matlab', version: 'R2023b' },
      { name: 'odd', version: 'stable' },
      { name: 'blank', version: '' },
    ],
    packages: [{ name: 'numpy', version: '1.24.4' }],
  };
  const ask = (name: string, version?: string): Partial<JobSpec> => ({
    application: version === undefined ? { name } : { name, version },
  });

  it.each<[string, string | undefined, string[]]>([
    ['node', undefined, []],
    ['node', '>=20', []],
    ['node', '18.x', []],
    ['node', '>=25', ['software.version!']],
    ['Node', undefined, ['software.application!']],
    ['julia', '>=1', ['software.application!']],
    ['matlab', '>=R2023a', []],
    ['matlab', '>=2023a', ['software.version!']],
    ['odd', undefined, []],
    ['odd', '*', ['software.version!']],
    ['blank', undefined, ['software.version!']],
    ['node', 'nonsense', ['software.version!']],
  ])('A-01 A-02 A-62 A-67 %s %s', (name, version, expected) => {
    expect(reasons({ inventory, spec: ask(name, version) })).toEqual(expected);
  });

  it('A-29 A-62 packages are checked, each for itself', () => {
    const packages = [{ name: 'numpy', version: '>=1.26' }, { name: 'scipy' }];
    expect(reasons({ inventory, spec: { packages } })).toEqual(['software.package!', 'software.package!']);
    const world = new World();
    world.node('a', { inventory });
    world.node('b', { inventory: { packages: [{ name: 'numpy', version: '1.9' }] } });
    expect(world.plan({ packages }).decision.filtered).toMatchObject([
      { asked: 'numpy >=1.26', best: '1.24.4', nodes: 2, also: 0 },
      { asked: 'scipy', nodes: 0, also: 2 },
    ]);
  });
});

describe('containers', () => {
  const image: Partial<JobSpec> = { task: { command: ['tool'], env: {}, image: 'quay.io/lab/tool:1' } };
  const podman: Partial<Inventory> = { container: { engine: 'podman', version: '4.3.1' } };

  it('a job with an image goes only where an engine is usable; others go anywhere', () => {
    expect(reasons({ spec: image })).toEqual(['software.container!']);
    expect(reasons({ spec: image, inventory: podman })).toEqual([]);
    expect(reasons({ inventory: podman })).toEqual([]);
    const world = new World();
    world.node('a');
    world.node('b', { inventory: podman });
    const { decision } = world.plan(image);
    expect(decision).toMatchObject({ outcome: 'placed', winner: 'b' });
    expect(decision.filtered).toEqual([
      { reason: 'software.container', side: 'job', never: true, nodes: 1, also: 0, asked: 'docker or podman' },
    ]);
  });

  it('a constraint may ask for an engine, and no label passes for one', () => {
    const asks = { ...image, constraints: ['node.container = podman'] };
    expect(reasons({ spec: asks, inventory: podman })).toEqual([]);
    expect(reasons({ spec: asks, inventory: { container: { engine: 'docker', version: '28' } } })).toEqual([
      'constraint!',
    ]);
    expect(reasons({ spec: asks, inventory: { labels: { 'node.container': 'podman' } } })).toEqual([
      'software.container!',
      'constraint!',
    ]);
    expect(reasons({ spec: { constraints: ['!node.container'] } })).toEqual([]);
  });

  it('where none has an engine, running without the image is the smallest change, if there is a program', () => {
    const world = new World();
    world.node('a');
    expect(smallestChange(world.request(image), world.cluster, { time: second(0) })).toMatchObject({
      changes: [{ requirement: 'task.image', from: 'quay.io/lab/tool:1', to: 'not asked for' }],
    });
    const own = world.request({ task: { ...image.task!, command: [] } });
    expect(smallestChange(own, world.cluster, { time: second(0) })).toMatchObject({
      kind: 'others',
      reasons: [{ side: 'job', description: 'no container engine' }],
    });
    expect(neverReasons(own, world.cluster, 0)).toMatchObject([{ reason: 'software.container' }]);
  });
});

describe('architecture and labels', () => {
  it.each<[string, string[], string[]]>([
    ['x64', ['x64', 'arm64'], []],
    ['x64', ['amd64'], []],
    ['x86_64', ['x64'], []],
    ['aarch64', ['arm64'], []],
    ['arm64', ['x64'], ['architecture!']],
    ['', ['x64'], ['architecture!']],
    ['riscv64', [], []],
  ])('A-03 A-63 a node of %s for a job that accepts %j', (architecture, accepted, expected) => {
    expect(reasons({ inventory: { architecture }, spec: { architecture: accepted } })).toEqual(expected);
  });

  it('A-63 constraints see labels and what is built in, and each failing one is told', () => {
    const labels = { region: 'br', 'node.os': 'forged' };
    const constraints = ['region in (br, eu)', '!spot', 'node.os = linux', 'node.id = a', 'node.institution = usp'];
    expect(reasons({ inventory: { labels }, spec: { constraints } })).toEqual([]);
    expect(reasons({ spec: { constraints: ['region = br', 'spot', 'not ( valid'] } })).toEqual([
      'constraint!',
      'constraint!',
      'constraint!',
    ]);
  });

  it('A-64 A-88 when architecture and permission both fail, both are listed', () => {
    const world = new World();
    world.node('a', { inventory: { architecture: 'arm64' }, policy: { deny: { institutions: ['usp'] } } });
    expect(world.plan({ architecture: ['x64'] }).decision.filtered).toEqual([
      { reason: 'policy.institution', side: 'owner', never: true, nodes: 1, also: 0, asked: 'usp' },
      { reason: 'architecture', side: 'job', never: true, nodes: 0, also: 1, asked: 'x64', best: 'arm64' },
    ]);
  });
});

describe('data', () => {
  const input = (source: string): Partial<JobSpec> => ({ inputs: [{ source, path: 'in' }] });

  it('A-07 the artifact store and other jobs are reached everywhere, addresses unless a node is labelled', () => {
    const isolated = { labels: { internet: 'false' } };
    expect(reasons({ inventory: isolated, spec: input('sha256:00') })).toEqual([]);
    expect(reasons({ inventory: isolated, spec: input('job:1/x') })).toEqual([]);
    expect(reasons({ inventory: isolated, spec: input('https://example.org/x') })).toEqual(['data.unreachable!']);
    expect(reasons({ spec: input('https://example.org/x') })).toEqual([]);
    expect(reasons({ spec: input('ftp://example.org/x') })).toEqual(['data.unreachable!']);
  });

  it('A-07 plain http is for nodes that say they take it', () => {
    const takes = { 'http-inputs': 'true' };
    expect(reasons({ spec: input('http://example.org/x') })).toEqual(['data.unreachable!']);
    expect(reasons({ inventory: { labels: takes }, spec: input('http://example.org/x') })).toEqual([]);
    const isolated = { labels: { ...takes, internet: 'no' } };
    expect(reasons({ inventory: isolated, spec: input('http://example.org/x') })).toEqual(['data.unreachable!']);
  });
});

describe('reasons', () => {
  it('A-88 the reference page is the one written from the table', () => {
    expect(readFileSync('docs/reference/reasons.md', 'utf8')).toBe(reasonsPage());
  });
});

describe('capacity', () => {
  it.each<[string, Partial<JobSpec>, string]>([
    ['A-04 CPU', needs({ cpu: 8.001 }), 'capacity.cpu!'],
    ['A-05 memory', needs({ memory: 17 * GIB }), 'capacity.memory!'],
    ['A-30 disk', needs({ disk: 101 * GIB }), 'capacity.disk!'],
    ['A-30 I/O slots', needs({ ioSlots: 5 }), 'capacity.io-slots!'],
    ['A-06 GPUs', gpu(1), 'capacity.gpu-count!'],
  ])('%s over the whole node never fits', (_title, spec, expected) => {
    expect(reasons({ spec })).toEqual([expected]);
  });

  it('A-30 what is only taken fits later', () => {
    const world = new World();
    world.node('a');
    world.job('j');
    const held = world.reserve('j', 'a', { cpu: 8, memory: 16 * GIB, disk: 100 * GIB, ioSlots: 4 });
    const asked = world.request(needs({ disk: 1, ioSlots: 1 }));
    const explained = explainNode(asked, world.cluster, contextAt(second(0)), 'a');
    expect(reasonsOn(explained)).toEqual(['capacity.cpu', 'capacity.memory', 'capacity.disk', 'capacity.io-slots']);
    world.release('a', held);
    expect(world.plan(needs({ disk: 1, ioSlots: 1 })).nodeId).toBe('a');
  });

  it('A-61 A-88 asked 64 GiB, best 48 GiB', () => {
    const world = new World();
    world.node('a', { inventory: { memory: 48 * GIB, cpu: 128 } });
    world.node('b', { inventory: { memory: 32 * GIB } });
    expect(world.plan(needs({ memory: 64 * GIB })).decision.filtered).toEqual([
      { reason: 'capacity.memory', side: 'job', never: true, nodes: 2, also: 0, asked: '64 GiB', best: '48 GiB' },
    ]);
    expect(neverReasons(world.request(needs({ memory: 64 * GIB })), world.cluster, 0)).toMatchObject([
      { best: '48 GiB' },
    ]);
    expect(neverReasons(world.request(needs({ memory: 40 * GIB })), world.cluster, 0)).toEqual([]);
    expect(neverReasons(world.request(), new World().cluster, 0)).toEqual([]);
  });

  const gpus = [
    { id: 'g0', model: 'A100', memory: 40 * GIB },
    { id: 'g1', model: 'T4', memory: 16 * GIB },
  ];

  it.each<[string, Partial<JobSpec>, string[]]>([
    ['one of any', gpu(1), []],
    ['two of any', gpu(2), []],
    ['three', gpu(3), ['capacity.gpu-count!']],
    ['two of one model', gpu(2, { models: ['A100'] }), ['capacity.gpu-model!']],
    ['two of either model, in any case', gpu(2, { models: ['a100', 't4'] }), []],
    ['a model that is not there', gpu(1, { models: ['H100'] }), ['capacity.gpu-model!']],
    ['a part of a name', gpu(1, { models: ['A10'] }), ['capacity.gpu-model!']],
    ['more memory than any has', gpu(1, { memory: 80 * GIB }), ['capacity.gpu-memory!']],
    ['two with the memory of one', gpu(2, { memory: 20 * GIB }), ['capacity.gpu-memory!']],
    ['half of one with its memory', gpu(1, { share: 0.5, memory: 16 * GIB }), []],
  ])('A-06 %s', (_title, spec, expected) => {
    expect(reasons({ inventory: { gpus }, spec })).toEqual(expected);
  });

  it('A-06 shares fit while there is share and memory; a whole GPU must be empty', () => {
    const world = new World();
    world.node('a', { inventory: { gpus: gpus.slice(0, 1) } });
    world.job('j');
    world.reserve('j', 'a', { gpus: [{ id: 'g0', share: 0.6, memory: 8 * GIB }] });
    expect(primaryReasons(world.plan(gpu(1, { share: 0.4 })))).toEqual([]);
    expect(primaryReasons(world.plan(gpu(1, { share: 0.401 })))).toEqual(['capacity.gpu-free']);
    expect(primaryReasons(world.plan(gpu(1, { share: 0.2, memory: 33 * GIB })))).toEqual(['capacity.gpu-free']);
    expect(primaryReasons(world.plan(gpu(1)))).toEqual(['capacity.gpu-free']);
  });

  it('A-30 a batch job fits with its smallest batch', () => {
    const batch = { size: 64, min: 8, memoryPerItem: GIB, gpuMemoryPerItem: 0 };
    expect(reasons({ spec: { batch } })).toEqual([]);
    expect(reasons({ spec: { batch: { ...batch, min: 16 } } })).toEqual(['capacity.memory!']);
  });
});
