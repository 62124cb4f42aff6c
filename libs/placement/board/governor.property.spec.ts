import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { machineOf, verdict } from '#governor/budget';
import type { Verdict } from '#governor/budget';
import type { BatchRequest, JobSpec, ResourceRequest } from '#jobs';
import { toMillis } from '#kernel';
import type { Inventory } from '#nodes';
import { anInventory, second } from '#testing';
import { columnsOf } from '../cluster/columns.js';
import { chooseAmong } from '../devices.js';
import { decide, demandOf, explainNode } from '../index.js';
import type { ClusterNode, PlacementRequest } from '../index.js';
import { contextAt, GIB, World } from '../testing/world.js';
import { boardOf } from './boards.js';
import { lookAt } from './look.js';

/*
 * Placement remembers on its boards what each node answered, and folds each node's ledger as it grows. The governor is asked
 * anew, about a machine made of the node's inventory and the contracts held, and has to say the same.
 */

const NODES = ['n0', 'n1', 'n2', 'n3'] as const;
const CONTEXT = contextAt(second(60));

const inventories: fc.Arbitrary<Partial<Inventory>> = fc.record({
  cpu: fc.constantFrom(1, 4, 16),
  memory: fc.integer({ min: 1, max: 32 }).map((size) => size * GIB),
  disk: fc.constantFrom(0, 50 * GIB),
  ioSlots: fc.integer({ min: 0, max: 2 }),
  gpus: fc
    .array(fc.tuple(fc.constantFrom('T4', 'A100'), fc.constantFrom(8, 16, 40)), { maxLength: 3 })
    .map((all) => all.map(([model, size], index) => ({ id: `g${index}`, model, memory: size * GIB }))),
});

const gpu = fc.record(
  {
    count: fc.integer({ min: 1, max: 2 }),
    share: fc.constantFrom(0.25, 0.5, 0.7, 1),
    memory: fc.integer({ min: 0, max: 24 }).map((size) => size * GIB),
    models: fc.constantFrom([], ['t4'], ['A100', 'T4']),
  },
  { requiredKeys: ['count', 'share', 'models'] },
);

const resources: fc.Arbitrary<ResourceRequest> = fc.record(
  {
    cpu: fc.constantFrom(0, 0.1, 1, 3, 8),
    memory: fc.integer({ min: 0, max: 12 }).map((size) => size * GIB),
    disk: fc.constantFrom(0, 0, 20 * GIB),
    ioSlots: fc.constantFrom(0, 0, 1),
    gpu,
  },
  { requiredKeys: ['cpu', 'memory', 'disk', 'ioSlots'] },
);

const batches: fc.Arbitrary<BatchRequest> = fc
  .record({
    size: fc.integer({ min: 1, max: 40 }),
    min: fc.integer({ min: 1, max: 40 }),
    memoryPerItem: fc.constantFrom(0, GIB / 4, GIB),
    gpuMemoryPerItem: fc.constantFrom(0, GIB),
  })
  .map((batch) => ({ ...batch, min: Math.min(batch.min, batch.size) }));

const specs: fc.Arbitrary<Partial<JobSpec>> = fc.record(
  { resources, batch: batches, profile: fc.constantFrom('balanced', 'gpu') },
  { requiredKeys: ['resources'] },
);

const enrol = (world: World, id: string, has: Partial<Inventory>): void => {
  if (!world.cluster.nodes.has(id)) return world.node(id, { inventory: has });
  const data = { inventory: anInventory(has), at: second(60) };
  world.onNode(id, { type: 'NodeInventoryChanged', data });
};

/** The node as the governor would know it, had it only the inventory and the contracts. */
const recounted = (node: ClusterNode): ClusterNode => {
  const machine = machineOf(
    node.inventory,
    [...node.ledger.values()].map(({ contract }) => contract),
  );
  return { ...node, ...machine, devices: [...machine.devices] };
};

/** What the board remembers of a node, in the governor's words. */
const remembered = (world: World, request: PlacementRequest, nodeId: string): string => {
  const { cluster } = world;
  lookAt(request, cluster, toMillis(CONTEXT.time));
  const board = boardOf(request, cluster);
  const place = columnsOf(cluster).placeOf(nodeId) ?? -1;
  const pattern = board.patterns.list[board.pattern[place] ?? -1];
  if (pattern?.places.length === 0) return 'GRANT or REDUCE_BATCH';
  return pattern?.never === true ? 'REJECT' : 'WAIT';
};

const inWords = ({ kind }: Verdict): string =>
  kind === 'GRANT' || kind === 'REDUCE_BATCH' ? 'GRANT or REDUCE_BATCH' : kind;

const codesOf = (answer: Verdict): unknown =>
  'reason' in answer
    ? (answer.reason.details as { shortages: { code: string }[] }).shortages.map(({ code }) => code)
    : [];

/** Board, explanation and contract of one node for one request, against the verdict. */
const compare = (world: World, request: PlacementRequest, nodeId: string): Verdict => {
  const { cluster } = world;
  const demand = demandOf(request.spec);
  const machine = recounted(cluster.nodes.get(nodeId)!);
  const answer = verdict(demand, machine, (room, _, items) => {
    return chooseAmong(room, machine, demand, items, cluster.mix).devices;
  });
  expect(remembered(world, request, nodeId)).toBe(inWords(answer));
  const explained = explainNode(request, cluster, CONTEXT, nodeId);
  if (explained.kind === 'eligible') expect(explained.contract).toEqual('contract' in answer && answer.contract);
  else if (explained.kind === 'filtered') {
    const told = explained.reasons.filter(({ never }) => never || answer.kind === 'WAIT');
    expect(told.map(({ reason }) => reason)).toEqual(codesOf(answer));
  }
  return answer;
};

describe('placement and the governor', () => {
  it('G-03 G-04 G-05 G-06 G-07 G-08 G-59 10,000 times the same verdict, the same reasons and the same contract', () => {
    const seen = { GRANT: 0, REDUCE_BATCH: 0, WAIT: 0, REJECT: 0 };
    const rounds = fc.array(fc.tuple(fc.nat(4), fc.constantFrom(...NODES), fc.option(inventories), fc.boolean()), {
      minLength: 5,
      maxLength: 5,
    });
    fc.assert(
      fc.property(
        fc.array(inventories, { minLength: 4, maxLength: 4 }),
        fc.array(specs, { minLength: 5, maxLength: 5 }),
        rounds,
        (has, asks, all) => {
          const world = new World();
          NODES.forEach((id, index) => enrol(world, id, has[index]!));
          asks.forEach((spec, index) => world.job(`job-${index}`, spec));
          const held: [nodeId: string, executionId: string][] = [];
          for (const [turn, nodeId, changed, ends] of all) {
            const { nodeId: chosen, contract } = world.decide(`job-${turn}`, CONTEXT.time);
            if (chosen !== undefined) held.push([chosen, world.reserve(`job-${turn}`, chosen, contract)]);
            if (changed) enrol(world, nodeId, changed);
            if (ends && held.length > 1) world.release(...held.shift()!);
            for (const spec of asks) for (const id of NODES) seen[compare(world, world.request(spec), id).kind] += 1;
          }
        },
      ),
      { numRuns: 100 },
    );
    const pairs = Object.values(seen);
    expect(pairs.reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(10_000);
    expect(Math.min(...pairs)).toBeGreaterThan(100);
  });

  it('G-04 grants what asks for nothing of a part that is over-committed', () => {
    const world = new World();
    world.node('a', { inventory: { disk: GIB } });
    world.job('j');
    world.reserve('j', 'a', { disk: GIB });
    enrol(world, 'a', { disk: 0 });
    const placed = decide(world.request(), world.cluster, CONTEXT);
    expect([placed.decision.outcome, placed.nodeId]).toEqual(['placed', 'a']);
    expect(placed.contract?.disk).toBe(0);
  });
});
