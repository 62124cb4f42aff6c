import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { fold } from '#kernel';
import { freeCapacity, nodeDecider, nodeStream } from '#nodes';
import { projectInMemory, recordedLog } from '#read-store/testing';
import { aContract, aGpu, anInventory, second } from '#testing';
import { capacityView, difference } from './capacity.js';
import { nodesProjection } from './index.js';
import { totalCapacity } from '../domain/ledger.js';
import type { Contract, NodeEvent } from '#nodes';
import type { NodeCapacityRow, NodeClaimRow, NodeRow, NodeTimelineRow } from './index.js';

const inventory = anInventory({ gpus: [aGpu({ id: 'gpu-0' }), aGpu({ id: 'gpu-1' })] });

const enrolled: NodeEvent = {
  type: 'NodeEnrolled',
  data: { nodeId: 'node-1', name: 'node-1', owner: 'olga', institution: 'usp', inventory, policy: {}, at: second(0) },
};

const claimed = (executionId: string, contract: Contract = aContract()): NodeEvent => ({
  type: 'CapacityReserved',
  data: { executionId, jobId: 'job-1', project: 'demo', contract, expiresAt: second(15), at: second(1) },
});

const released = (executionId: string): NodeEvent => ({
  type: 'CapacityReleased',
  data: { executionId, cause: 'succeeded', at: second(2) },
});

interface Rows {
  readonly nodes: readonly NodeRow[];
  readonly node_capacity: readonly (NodeCapacityRow & { revision: string })[];
  readonly node_claims: readonly NodeClaimRow[];
  readonly node_timeline: readonly NodeTimelineRow[];
}

const rowsAfter = (...events: readonly NodeEvent[]): Rows =>
  projectInMemory(
    nodesProjection,
    recordedLog(events.map((event) => [nodeStream('node-1'), event])),
  ) as unknown as Rows;

const reduced = (executionId: string, contract: Contract): NodeEvent => ({
  type: 'CapacityReduced',
  data: { executionId, contract, at: second(3) },
});

describe('the nodes projection', () => {
  it('A-41 counts what a node keeps for later tasks', () => {
    const cache = (added: readonly string[], removed: readonly string[]): NodeEvent => ({
      type: 'NodeCacheChanged',
      data: { added, removed, at: second(2) },
    });
    const rows = rowsAfter(enrolled, cache(['aa', 'bb', 'cc'], []), cache(['dd'], ['aa', 'bb']));
    expect(rows.nodes[0]).toMatchObject({ cachedInputs: 2 });
    expect(rows.node_timeline.at(-1)).toMatchObject({
      title: 'Keeps 1 more input, 2 fewer',
      data: { added: 1, removed: 2 },
    });
  });

  it('shows presence, cordon and drain with their reasons', () => {
    const rows = rowsAfter(
      enrolled,
      { type: 'NodeWentOnline', data: { at: second(1) } },
      { type: 'NodeCordoned', data: { reason: 'new disk', at: second(2) } },
      { type: 'NodeDrainStarted', data: { reason: 'power cut', deadline: second(99), at: second(3) } },
      { type: 'NodeWentOffline', data: { lastSeenAt: second(3), reason: 'silent', at: second(20) } },
    );
    expect(rows.nodes[0]).toMatchObject({
      online: false,
      presenceSince: second(20),
      offlineReason: 'silent',
      cordoned: 'new disk',
      draining: { reason: 'power cut', deadline: second(99), announcedBy: 'operator' },
    });
    expect(rows.node_timeline.map(({ title }) => title)).toContain('Went offline: silent');
  });

  it('A-36 shows how far the node is, and what it was before in the timeline', () => {
    const far = { latencyClass: 'far', roundTrip: 0.08 } as const;
    const rows = rowsAfter(enrolled, { type: 'NodeLatencyChanged', data: { ...far, at: second(1) } });
    expect(rows.nodes[0]?.latency).toEqual(far);
    expect(rows.node_timeline.at(-1)?.title).toBe('Is far: 80 ms to the control plane');
  });

  it('shows the pool, and every change of it in the timeline', () => {
    const pool = { name: 'lab', discipline: 'backfill' } as const;
    const joined: NodeEvent = { type: 'NodePoolChanged', data: { pool, at: second(1) } };
    expect(rowsAfter(enrolled, joined).nodes[0]).toMatchObject({ pool });
    const left = rowsAfter(enrolled, joined, { type: 'NodePoolChanged', data: { pool: null, at: second(2) } });
    expect(left.nodes[0]?.pool).toBeNull();
    const titles = left.node_timeline.map(({ title }) => title);
    expect(titles.slice(1)).toEqual(['Belongs to pool lab, backfill', 'Belongs to no pool']);
  });

  it('keeps every claim with its end, outside the timeline', () => {
    const rows = rowsAfter(enrolled, claimed('job-1.1'), claimed('job-1.2'), released('job-1.1'), released('job-1.1'));
    expect(rows.node_capacity[0]).toMatchObject({ held: 1, revision: '4' });
    expect(rows.node_claims.map(({ executionId, cause }) => [executionId, cause])).toEqual([
      ['job-1.1', 'succeeded'],
      ['job-1.2', null],
    ]);
    expect(rows.node_timeline).toHaveLength(1);
  });
});

const anyContract: fc.Arbitrary<Contract> = fc
  .record({
    milli: fc.integer({ min: 0, max: 8000 }),
    memory: fc.maxSafeInteger().map((bytes) => Math.abs(bytes) % 2 ** 40),
    share: fc.integer({ min: 1, max: 1000 }),
    gpu: fc.constantFrom('gpu-0', 'gpu-1', 'gone'),
  })
  .map(({ milli, memory, share, gpu }) =>
    aContract({ cpu: milli / 1000, memory, gpus: [{ id: gpu, share: share / 1000, memory: 1 }] }),
  );

const anyEvent = fc.oneof(
  fc
    .record({ id: fc.constantFrom('a', 'b', 'c', 'd'), contract: anyContract })
    .map(({ id, contract }) => claimed(id, contract)),
  fc
    .record({ id: fc.constantFrom('a', 'b', 'c', 'd'), contract: anyContract })
    .map(({ id, contract }) => reduced(id, contract)),
  fc.constantFrom('a', 'b', 'c', 'd').map(released),
  fc.constant<NodeEvent>({ type: 'NodeInventoryChanged', data: { inventory: anInventory({ cpu: 2 }), at: second(5) } }),
);

describe('the nodes projection and the ledger', () => {
  it('agree to the last thousandth on what is free, whatever the history', () => {
    fc.assert(
      fc.property(fc.array(anyEvent, { maxLength: 40 }), (events) => {
        const history = [enrolled, ...events];
        const state = fold(nodeDecider, history);
        const rows = rowsAfter(...history);
        const free = freeCapacity(
          state.inventory,
          Object.values(state.held).map(({ contract }) => contract),
        );
        const shown = difference(totalCapacity(state.inventory), rows.node_capacity[0]!.reserved);
        expect(shown).toEqual(free);
        expect(rows.node_capacity[0]?.held).toBe(Object.keys(state.held).length);
        expect(rows.nodes[0]?.inventory).toEqual(state.inventory);
      }),
      { numRuns: 200 },
    );
  });

  it('shows cores and shares as numbers', () => {
    const view = capacityView(totalCapacity(inventory));
    expect(view).toMatchObject({
      cpu: 8,
      gpus: [
        { id: 'gpu-0', share: 1 },
        { id: 'gpu-1', share: 1 },
      ],
    });
  });
});
