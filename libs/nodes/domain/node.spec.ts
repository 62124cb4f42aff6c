import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { aContract, aGpu, anEnrollment, anInventory, aReservation, deciderSpec, second } from '#testing';
import type { NodeCommand } from './commands.js';
import type { Contract } from './contract.js';
import { nodeDecider } from './decide.js';
import { AGENT_STOPS } from './draining.js';
import type { NodeEvent } from './events.js';
import { evolve } from './evolve.js';
import { freeCapacity, shortages, totalCapacity } from './ledger.js';
import type { Discipline } from './pool.js';
import { absentNode } from './state.js';

const spec = deciderSpec(nodeDecider);
const at = second(5);
const enroll = anEnrollment();
const policy = { price: { cpuHour: 1 } };
const offline: NodeCommand = { type: 'MarkOffline', lastSeenAt: second(1), reason: 'silent for 15 s', at };
const cordon: NodeCommand = { type: 'CordonNode', reason: 'disk', at };
const uncordon: NodeCommand = { type: 'UncordonNode', at };
const drain: NodeCommand = { type: 'DrainNode', reason: 'upgrade', deadline: second(600), at };
const stopping: NodeCommand = { type: 'AnnounceStop', at };
const release: NodeCommand = { type: 'ReleaseCapacity', executionId: 'job-1.1', cause: 'succeeded', at };

const COMMANDS = {
  'EnrollNode again': anEnrollment({ at }),
  'EnrollNode returning': anEnrollment({ returning: true, at }),
  ChangeInventory: { type: 'ChangeInventory', inventory: anInventory({ cpu: 4 }), at },
  'ChangeInventory to the same': { type: 'ChangeInventory', inventory: anInventory(), at },
  ChangePolicy: { type: 'ChangePolicy', policy, at },
  'ChangePolicy to the same': { type: 'ChangePolicy', policy: {}, at },
  MarkOnline: { type: 'MarkOnline', at },
  MarkOffline: offline,
  CordonNode: cordon,
  UncordonNode: uncordon,
  DrainNode: drain,
  AnnounceStop: stopping,
  ReportLatency: { type: 'ReportLatency', roundTrip: 0.02, at },
  ReportCache: { type: 'ReportCache', held: ['aa'], at },
  ChangePool: { type: 'ChangePool', pool: { name: 'lab', discipline: 'fifo' }, at },
  'ChangePool to none': { type: 'ChangePool', pool: null, at },
  ReserveCapacity: aReservation(2, { at }),
  'ReserveCapacity again': aReservation(1, { at }),
  ReleaseCapacity: release,
} as const satisfies Record<string, NodeCommand>;

const PATHS = {
  absent: [],
  online: [enroll],
  offline: [enroll, offline],
  cordoned: [enroll, cordon],
  draining: [enroll, drain],
  holding: [enroll, aReservation(1)],
  'holding, then offline': [enroll, aReservation(1), offline],
} as const satisfies Record<string, readonly NodeCommand[]>;

type Path = keyof typeof PATHS;
type Row = Partial<Record<Path, string>> & { readonly else: string };
const absent = '!NODE_UNKNOWN';
const closed = {
  offline: '!NODE_NOT_SCHEDULABLE',
  cordoned: '!NODE_NOT_SCHEDULABLE',
  draining: '!NODE_NOT_SCHEDULABLE',
};

/** The types of the events that follow, `-` for none, or the refusal after `!`. */
const TABLE: Readonly<Record<keyof typeof COMMANDS, Row>> = {
  'EnrollNode again': { absent: 'NodeEnrolled NodeWentOnline', else: '!NODE_NAME_TAKEN' },
  'EnrollNode returning': {
    absent: 'NodeEnrolled NodeWentOnline',
    offline: 'NodeWentOnline',
    'holding, then offline': 'NodeWentOnline',
    else: '-',
  },
  ChangeInventory: { absent, else: 'NodeInventoryChanged' },
  'ChangeInventory to the same': { absent, else: '-' },
  ChangePolicy: { absent, else: 'NodePolicyChanged' },
  'ChangePolicy to the same': { absent, else: '-' },
  MarkOnline: { absent, offline: 'NodeWentOnline', 'holding, then offline': 'NodeWentOnline', else: '-' },
  MarkOffline: { absent, offline: '-', 'holding, then offline': '-', else: 'NodeWentOffline' },
  CordonNode: { absent, cordoned: '-', else: 'NodeCordoned' },
  UncordonNode: { absent, cordoned: 'NodeUncordoned', draining: 'NodeUncordoned', else: '-' },
  DrainNode: { absent, draining: '-', else: 'NodeDrainStarted' },
  AnnounceStop: { absent, cordoned: '-', draining: '-', else: 'NodeDrainStarted' },
  ReportLatency: { absent, else: 'NodeLatencyChanged' },
  ReportCache: { absent, else: 'NodeCacheChanged' },
  ChangePool: { absent, else: 'NodePoolChanged' },
  'ChangePool to none': { absent, else: '-' },
  ReserveCapacity: {
    absent,
    ...closed,
    'holding, then offline': '!NODE_NOT_SCHEDULABLE',
    else: 'CapacityReserved',
  },
  'ReserveCapacity again': { absent, ...closed, online: 'CapacityReserved', else: '-' },
  ReleaseCapacity: { absent, holding: 'CapacityReleased', 'holding, then offline': 'CapacityReleased', else: '-' },
};

describe('every command in every state of a node', () => {
  const cases = Object.keys(TABLE).flatMap((command) =>
    Object.keys(PATHS).map((path) => [command as keyof typeof COMMANDS, path as Path] as const),
  );

  it.each(cases)('%s, when it is %s', (command, path) => {
    const row: Row = TABLE[command];
    const expected = row[path] ?? row.else;
    const outcome = spec.after(...PATHS[path]).when(COMMANDS[command]);
    if (expected.startsWith('!')) outcome.thenRejected(expected.slice(1));
    else outcome.thenTypes(...(expected === '-' ? [] : expected.split(' ')));
    if (expected.startsWith('!')) return;
    const again = spec.after(...PATHS[path], COMMANDS[command]).when(COMMANDS[command]);
    if (COMMANDS[command].type !== 'EnrollNode') again.then();
  });
});

describe('enrolment', () => {
  it('A-96 records who the node is, what it has, and that it is there', () => {
    const { nodeId, name, owner, institution, inventory } = enroll;
    spec
      .given()
      .when(anEnrollment({ policy }))
      .then(
        { type: 'NodeEnrolled', data: { nodeId, name, owner, institution, inventory, policy, at: second(0) } },
        { type: 'NodeWentOnline', data: { at: second(0) } },
      );
    spec
      .given()
      .when(enroll)
      .thenState((node) => node.online && Object.keys(node.policy).length === 0);
  });

  it('a taken name is refused, whatever the inventory, unless the caller is that node', () => {
    const other = anEnrollment({ owner: 'eve', inventory: anInventory({ cpu: 64 }), at });
    spec.after(enroll).when(other).thenRejected('NODE_NAME_TAKEN');
  });

  it('a node that comes back keeps its id and what it holds, and tells what is new', () => {
    const back = anEnrollment({ returning: true, inventory: anInventory({ cpu: 4 }), policy, at });
    const outcome = spec.after(...PATHS['holding, then offline']).when(back);
    outcome.thenTypes('NodeInventoryChanged', 'NodePolicyChanged', 'NodeWentOnline');
    expect(outcome.state).toMatchObject({ nodeId: 'node-1', online: true, policy, inventory: { cpu: 4 } });
    expect(Object.keys(outcome.state.held)).toEqual(['job-1.1']);
  });

  it('an agent without a policy leaves the one that the owner has set', () => {
    const outcome = spec.after(enroll, COMMANDS.ChangePolicy).when(anEnrollment({ returning: true, at }));
    outcome.then();
    expect(outcome.state.policy).toEqual(policy);
  });

  it('the order of keys is no change, the order of a list is', () => {
    const { labels: _labels, cpu: _cpu, ...rest } = anInventory();
    const shuffled = { labels: {}, cpu: 8, ...rest };
    spec.after(enroll).when({ type: 'ChangeInventory', inventory: shuffled, at }).then();
    const gpus = [aGpu({ id: 'a' }), aGpu({ id: 'b' })];
    spec
      .after(anEnrollment({ inventory: anInventory({ gpus }) }))
      .when({ type: 'ChangeInventory', inventory: anInventory({ gpus: [...gpus].reverse() }), at })
      .thenTypes('NodeInventoryChanged');
  });
});

describe('the cache', () => {
  const report = (time: number, ...held: string[]): NodeCommand => ({ type: 'ReportCache', held, at: second(time) });

  it('A-41 records what was added and removed since the last report', () => {
    const told = spec.after(enroll, report(0, 'aa', 'bb'));
    expect([...told.state.cached]).toEqual(['aa', 'bb']);
    told.when(report(10, 'bb', 'cc')).then({
      type: 'NodeCacheChanged',
      data: { added: ['cc'], removed: ['aa'], at: second(10) },
    });
  });

  it('records the first report, be it empty, and nothing that is the same', () => {
    spec
      .after(enroll)
      .when(report(0))
      .then({ type: 'NodeCacheChanged', data: { added: [], removed: [], at: second(0) } });
    spec.after(enroll, report(0)).when(report(60)).thenTypes();
    spec
      .after(enroll, report(0, 'aa', 'bb'))
      .when(report(60, 'bb', 'aa'))
      .thenTypes();
  });

  it('is not recorded at each fetch', () => {
    const told = spec.after(enroll, report(0, 'aa'));
    told.when(report(9.999, 'bb')).thenRejected('RATE_LIMITED');
    told.when(report(9.999, 'aa')).thenTypes();
    told.when(report(10, 'bb')).thenTypes('NodeCacheChanged');
  });

  it('is never told of by more digests than an event should hold', () => {
    const many = Array.from({ length: 513 }, (_, index) => String(index));
    spec
      .after(enroll)
      .when(report(0, ...many))
      .thenRejected('VALIDATION_FAILED');
    spec
      .after(enroll)
      .when(report(0, ...many.slice(1)))
      .thenTypes('NodeCacheChanged');
  });

  it('follows whatever is told, in whatever order', () => {
    const digests = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e'));
    fc.assert(
      fc.property(fc.array(digests, { maxLength: 8 }), (reports) => {
        const told = spec.after(enroll, ...reports.map((held, index) => report(index * 10, ...held)));
        const last = reports.at(-1) ?? [];
        expect([...told.state.cached].sort()).toEqual([...last].sort());
      }),
    );
  });
});

describe('latency', () => {
  const report = (roundTrip: number): NodeCommand => ({ type: 'ReportLatency', roundTrip, at });

  it('A-36 records the class of a round trip, and only when the class changes', () => {
    const near = spec.after(enroll, report(0.02));
    expect(near.state.latencyClass).toBe('near');
    near.when(report(0.025)).thenTypes();
    near.when(report(0.5)).thenTypes('NodeLatencyChanged');
    near.when(report(0.001)).thenState(({ latencyClass }) => latencyClass === 'local');
  });

  it('A-36 a round trip must pass a bound by a quarter, so that a node near one does not flap', () => {
    const near = spec.after(enroll, report(0.02));
    near.when(report(0.035)).thenTypes();
    near.when(report(0.042)).thenState(({ latencyClass }) => latencyClass === 'far');
    spec.after(enroll, report(0.042)).when(report(0.028)).thenTypes();
    spec.after(enroll, report(0.042)).when(report(0.02)).thenTypes('NodeLatencyChanged');
  });
});

describe('the pool', () => {
  const lab = (discipline: Discipline): NodeCommand => ({ type: 'ChangePool', pool: { name: 'lab', discipline }, at });

  it('is recorded when it or its discipline changes, and only then', () => {
    const inLab = spec.after(enroll, lab('fifo'));
    expect(inLab.state.pool).toEqual({ name: 'lab', discipline: 'fifo' });
    inLab.when(lab('fifo')).thenTypes();
    inLab.when(lab('backfill')).thenTypes('NodePoolChanged');
    inLab.when({ type: 'ChangePool', pool: null, at }).thenState(({ pool }) => pool === undefined);
  });

  it('a node that has joined another pool is not taken out of that one', () => {
    const inLab = spec.after(enroll, lab('fifo'));
    inLab.when({ type: 'ChangePool', pool: null, from: 'other', at }).thenTypes();
    inLab.when({ type: 'ChangePool', pool: null, from: 'lab', at }).thenTypes('NodePoolChanged');
  });
});

describe('presence, cordon and drain', () => {
  it('A-81 a refusal says why the node takes no work', () => {
    for (const [path, words] of [
      ['offline', 'offline'],
      ['cordoned', 'cordoned (disk)'],
      ['draining', 'draining (upgrade)'],
    ] as const) {
      expect(spec.after(...PATHS[path]).when(aReservation(2)).decision).toMatchObject({
        rejection: { code: 'NODE_NOT_SCHEDULABLE', message: expect.stringContaining(words) },
      });
    }
  });

  it('uncordoning ends a cordon and a drain together; what was held stays held throughout', () => {
    const both = spec.after(enroll, aReservation(1), cordon, drain);
    expect(Object.keys(both.state.held)).toHaveLength(1);
    both.when(uncordon).thenState(({ cordoned, draining, held }) => {
      return cordoned === undefined && draining === undefined && held['job-1.1'] !== undefined;
    });
  });

  it('coming back online ends neither cordon nor drain', () => {
    const back: NodeCommand = { type: 'MarkOnline', at };
    spec.after(enroll, cordon, drain, offline, back).when(aReservation(1)).thenRejected('NODE_NOT_SCHEDULABLE');
  });

  describe('a node whose agent said that it ends', () => {
    const returning: NodeCommand = anEnrollment({ returning: true, at });

    it('takes nothing new until it enrols again', () => {
      const left = spec.after(enroll, stopping);
      left.when(aReservation(1)).thenRejected('NODE_NOT_SCHEDULABLE');
      left.when(returning).then({ type: 'NodeUncordoned', data: { at } });
      spec
        .after(enroll, stopping, returning)
        .when(aReservation(1))
        .thenState(({ held }) => 'job-1.1' in held);
    });

    it.each([
      ['cordoned it before', [cordon, stopping]],
      ['cordoned it meanwhile', [stopping, cordon]],
      ['drained it before', [drain, stopping]],
      ['drained it meanwhile', [stopping, drain]],
    ])('and for longer when an operator %s', (_, commands) => {
      spec
        .after(enroll, ...commands, returning)
        .when(aReservation(1))
        .thenRejected('NODE_NOT_SCHEDULABLE');
    });
  });

  it('a drain may change its deadline, or lose it', () => {
    spec
      .after(enroll, drain)
      .when({ type: 'DrainNode', reason: 'upgrade', at })
      .then({
        type: 'NodeDrainStarted',
        data: { reason: 'upgrade', announcedBy: 'operator', at },
      });
  });

  it('a drain says who announced it, whatever its reason reads like', () => {
    const alike: NodeCommand = { type: 'DrainNode', reason: AGENT_STOPS, at };
    const returning: NodeCommand = anEnrollment({ returning: true, at });
    const announced = (by: 'agent' | 'operator') => ({
      type: 'NodeDrainStarted' as const,
      data: { reason: AGENT_STOPS, announcedBy: by, at },
    });
    spec.after(enroll).when(stopping).then(announced('agent'));
    spec.after(enroll, stopping).when(alike).then(announced('operator'));
    spec.after(enroll, alike).when(alike).then();
    spec.after(enroll, alike, returning).when(aReservation(1)).thenRejected('NODE_NOT_SCHEDULABLE');
  });

  it('a drain of old, which does not say it, is told by its reason', () => {
    const started = (reason: string): NodeEvent => ({ type: 'NodeDrainStarted', data: { reason, at } });
    const by = (reason: string) => evolve(absentNode(), started(reason)).draining?.announcedBy;
    expect([by(AGENT_STOPS), by('upgrade')]).toEqual(['agent', 'operator']);
  });
});

describe('the ledger', () => {
  const gpus = [aGpu({ id: 'a', memory: 1000 }), aGpu({ id: 'b', memory: 1000 })];
  const small = anEnrollment({ inventory: anInventory({ cpu: 1, memory: 1000, disk: 1000, ioSlots: 2, gpus }) });
  const tiny = aContract({ cpu: 0, memory: 0 });
  const hold = (execution: number, contract: Partial<Contract>, project = 'demo') =>
    aReservation(execution, { contract: { ...tiny, ...contract }, project, at });

  it('A-30 A-39 holds a contract exclusively and gives all of it back', () => {
    const holding = spec.after(small, hold(1, { cpu: 1 }));
    holding.when(hold(2, { cpu: 0.001 })).thenRejected('CAPACITY_EXCEEDED');
    holding.when(release).then({
      type: 'CapacityReleased',
      data: { executionId: 'job-1.1', cause: 'succeeded', at },
    });
    spec
      .after(small, hold(1, { cpu: 1 }), release)
      .when(hold(2, { cpu: 1 }))
      .thenTypes('CapacityReserved');
  });

  it('G-25 A-39 holds less when less was confirmed, once, and never more', () => {
    const gpu = (memory: number) => ({ gpus: [{ id: 'a', share: 0.5, memory }] });
    const contract = { ...tiny, cpu: 1, memory: 900, batchSize: 8, ...gpu(800) };
    const less = { ...contract, memory: 500, batchSize: 4, ...gpu(400) };
    const reduce = (to: Contract, executionId = 'job-1.1'): NodeCommand => {
      return { type: 'ReduceCapacity', executionId, contract: to, at };
    };
    const holding = spec.after(small, hold(1, contract));
    holding.when(reduce(less)).then({
      type: 'CapacityReduced',
      data: { executionId: 'job-1.1', contract: less, at },
    });
    const reduced = spec.after(small, hold(1, contract), reduce(less));
    expect(freeOf(reduced.state)).toMatchObject({ memory: 500, gpus: { a: { shareMilli: 500, memory: 600 } } });
    reduced.when(reduce(less)).then();
    reduced.when(hold(2, { memory: 500 })).thenTypes('CapacityReserved');
    for (const more of [contract, { ...less, cpu: 1.001 }, { ...less, batchSize: 5 }, { ...less, ...gpu(401) }]) {
      reduced.when(reduce(more)).thenRejected('CONTRACT_NOT_SMALLER');
    }
    holding.when(reduce({ ...less, gpus: [{ id: 'b', share: 0.1, memory: 0 }] })).thenRejected('CONTRACT_NOT_SMALLER');
    reduced.when(reduce(less, 'job-1.9')).then();
    const released = spec.after(small, hold(1, contract), reduce(less), release);
    expect(freeOf(released.state)).toEqual(freeOf(spec.after(small).state));
    released.when(reduce(less)).then();
  });

  it('A-39 is exact: 0.1 + 0.2 + 0.7 cores are one core', () => {
    const parts = [0.1, 0.2, 0.7].map((cpu, index) => hold(index + 1, { cpu }));
    const full = spec.after(small, ...parts);
    expect(freeOf(full.state).cpuMilli).toBe(0);
    full.when(hold(4, { cpu: 0.001 })).thenRejected('CAPACITY_EXCEEDED');
  });

  it('A-39 shares of a GPU add up to one device, its memory to its memory', () => {
    const part = (id: string, share: number, memory = 0) => ({ gpus: [{ id, share, memory }] });
    const three = spec.after(small, hold(1, part('a', 0.333)), hold(2, part('a', 0.333)), hold(3, part('a', 0.334)));
    expect(freeOf(three.state).gpus).toEqual({
      a: { shareMilli: 0, memory: 1000 },
      b: { shareMilli: 1000, memory: 1000 },
    });
    three.when(hold(4, part('a', 0.001))).thenRejected('CAPACITY_EXCEEDED');
    three.when(hold(4, part('b', 1, 1000))).thenTypes('CapacityReserved');
    three.when(hold(4, part('b', 1, 1001))).thenRejected('CAPACITY_EXCEEDED');
    three.when(hold(4, part('c', 0.1))).thenRejected('CAPACITY_EXCEEDED');
  });

  it('A-39 a device that a contract names twice is asked for the sum', () => {
    const half = { id: 'a', share: 0.6, memory: 0 };
    spec
      .after(small)
      .when(hold(1, { gpus: [half, half] }))
      .thenRejected('CAPACITY_EXCEEDED');
    const fits = [half, { id: 'a', share: 0.4, memory: 1000 }];
    spec
      .after(small)
      .when(hold(1, { gpus: fits }))
      .thenTypes('CapacityReserved');
  });

  it.each<Partial<Contract>>([
    { cpu: -1 },
    { cpu: Number.NaN },
    { memory: -1 },
    { memory: Infinity },
    { disk: Number.NaN },
    { ioSlots: -1 },
    { gpus: [{ id: 'a', share: -0.1, memory: 0 }] },
    {
      gpus: [
        { id: 'a', share: -0.5, memory: 0 },
        { id: 'a', share: 0.6, memory: 0 },
      ],
    },
    { gpus: [{ id: 'a', share: 0.1, memory: -1 }] },
  ])('refuses what is no amount: %j', (contract) => {
    spec.after(small).when(hold(1, contract)).thenRejected('CAPACITY_EXCEEDED');
  });

  it('names every dimension that is short, with what was asked and what is free', () => {
    const { decision } = spec.after(small).when(hold(1, { cpu: 2, memory: 1001, disk: 1001, ioSlots: 3 }));
    expect(decision).toMatchObject({
      rejection: {
        message: expect.stringContaining('memory: asked 1001, free 1000'),
        details: {
          shortages: [
            { dimension: 'cpu', asked: 2000, free: 1000 },
            { dimension: 'memory', asked: 1001, free: 1000 },
            { dimension: 'disk', asked: 1001, free: 1000 },
            { dimension: 'ioSlots', asked: 3, free: 2 },
          ],
        },
      },
    });
  });

  it('A-26 keeps a project within the share that the owner set, whoever decides', () => {
    const shared: NodeCommand = { type: 'ChangePolicy', policy: { maxShare: { demo: 0.5 } }, at };
    const half = spec.after(small, shared, hold(1, { cpu: 0.5 }));
    half.when(hold(2, { cpu: 0.001 })).thenRejected('CAPACITY_EXCEEDED');
    half.when(hold(2, { cpu: 0.5 }, 'other')).thenTypes('CapacityReserved');
    half.when(hold(2, { memory: 10 })).thenTypes('CapacityReserved');
    spec
      .after(small, shared, hold(1, { cpu: 0.5 }), release)
      .when(hold(2, { cpu: 0.5 }))
      .thenTypes('CapacityReserved');
  });

  it('a release counts once, whoever sends it and whatever its cause', () => {
    const released = spec.after(small, hold(1, { cpu: 1 }), release);
    for (const cause of ['lost', 'cancelled', 'expired', 'superseded', 'abandoned'] as const) {
      released.when({ type: 'ReleaseCapacity', executionId: 'job-1.1', cause, at }).then();
    }
  });

  it('an inventory that shrinks below what is held takes nothing new until enough is given back', () => {
    const shrunk: NodeCommand = { type: 'ChangeInventory', inventory: anInventory({ cpu: 0.5, memory: 1000 }), at };
    const over = spec.after(small, hold(1, { cpu: 1 }), shrunk);
    expect(freeOf(over.state).cpuMilli).toBe(-500);
    over.when(hold(2, { cpu: 0.1 })).thenRejected('CAPACITY_EXCEEDED');
    over.when(hold(2, { memory: 10 })).thenTypes('CapacityReserved');
    spec
      .after(small, hold(1, { cpu: 1 }), shrunk, release)
      .when(hold(2, { cpu: 0.5 }))
      .thenTypes('CapacityReserved');
  });

  it('counts in whole numbers up to the largest machines', () => {
    const huge = anInventory({ cpu: 4096, memory: 2 ** 47, gpus: [aGpu({ memory: 2 ** 38 })] });
    const contracts = Array.from({ length: 4096 }, () => aContract({ cpu: 1, memory: 2 ** 35 }));
    const free = freeCapacity(huge, contracts);
    expect(free).toMatchObject({ cpuMilli: 0, memory: 0 });
    expect(shortages(free, aContract({ cpu: 0.001, memory: 1 })).map(({ dimension }) => dimension)).toEqual([
      'cpu',
      'memory',
    ]);
    expect(freeCapacity(huge, [])).toEqual(totalCapacity(huge));
  });
});

const freeOf = (node: ReturnType<typeof nodeDecider.initialState>) =>
  freeCapacity(
    node.inventory,
    Object.values(node.held).map(({ contract }) => contract),
  );
