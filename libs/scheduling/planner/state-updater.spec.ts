import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { MemoryFaults } from '#event-store';
import { liveExecutions } from '#jobs';
import { onFirst, SchedulingWorld } from '../testing/scheduling-world.js';

const CORE = { resources: { cpu: 1, memory: 1, disk: 0, ioSlots: 0 } };
const NODES = ['n1', 'n2', 'n3'];

/** A project, and nodes of one core. */
const worldOf = async (nodes: readonly string[], faults?: MemoryFaults): Promise<SchedulingWorld> => {
  const world = new SchedulingWorld(faults ? { faults } : {});
  await world.project();
  for (const node of nodes) await world.node(node, { cpu: 1 });
  return world;
};

const causes = (world: SchedulingWorld, node: string): unknown[] =>
  world.events(`node-${node}`, 'CapacityReleased').map(({ data }) => (data as { cause: unknown }).cause);

describe('a plan that is carried out', () => {
  it('P-02 S-02 is one append to the job behind one to each node, whatever the number of partitions', async () => {
    const appends: string[] = [];
    const faults: MemoryFaults = {
      append: (stream, events) => void appends.push(`${stream} ${String(events.length)}`),
    };
    const world = await worldOf([], faults);
    await world.node('n1', { cpu: 3 });
    await world.node('n2', { cpu: 3 });
    await world.submit('j1', { ...CORE, count: 6 });
    appends.length = 0;
    await world.looping();
    await world.time.advanceAsync(1_000);
    expect(appends.slice(0, 2).sort()).toEqual(['node-n1 3', 'node-n2 3']);
    expect(appends.slice(2)).toEqual(['job-j1 12']);
    const decisions = world.events('job-j1', 'PlacementDecided').map(({ data }) => data as { evaluationId: string });
    expect(new Set(decisions.map(({ evaluationId }) => evaluationId)).size).toBe(1);
  });

  it('P-03 is refused whole when one ledger refuses: every other claim is given back, and it is made again', async () => {
    const faults = onFirst('CapacityReserved', { kind: 'delay-request', by: 500 });
    const world = await worldOf(NODES, faults);
    await world.looping();
    await world.submit('j1', { ...CORE, count: 3 });
    await world.time.advanceAsync(100);
    const [late] = NODES.filter((node) => world.types(`node-${node}`).length === 0);
    const cordon = { type: 'CordonNode', reason: 'x', at: world.now() } as const;
    await new SchedulingWorld({ beside: world }).onNode(late!, cordon);
    await world.time.advanceAsync(1_000);
    for (const node of NODES.filter((other) => other !== late)) expect(causes(world, node)).toEqual(['superseded']);
    const placed = world.events('job-j1', 'ExecutionReserved').map(({ data }) => (data as { nodeId: string }).nodeId);
    expect(placed.sort()).toEqual(NODES.filter((node) => node !== late));
    expect(world.types('job-j1').filter((type) => type === 'PlacementDecided')).toHaveLength(3);
  });

  it('P-03 is refused whole when the job has moved on, and made again on the newer state', async () => {
    const faults = onFirst('CapacityReserved', { kind: 'delay-answer', by: 500 });
    const world = await worldOf(NODES, faults);
    await world.looping();
    await world.submit('j1', { ...CORE, count: 3 });
    await world.time.advanceAsync(100);
    const other = new SchedulingWorld({ beside: world });
    await other.job('j1', { type: 'ChangePriority', priority: 60, at: world.now() });
    await world.time.advanceAsync(1_000);
    for (const node of NODES) expect(causes(world, node)).toEqual(['superseded']);
    const pair = ['PlacementDecided', 'ExecutionReserved'];
    expect(world.types('job-j1')).toEqual(['JobPriorityChanged', ...pair, ...pair, ...pair]);
  });

  it('P-03 gives the other claims back when a ledger cannot be asked, and tries again', async () => {
    const faults = onFirst('CapacityReserved', { kind: 'fail-before-storing', after: 10 });
    const world = await worldOf(NODES, faults);
    await world.looping();
    await world.submit('j1', { ...CORE, count: 3 });
    await world.time.advanceAsync(5_100);
    expect(NODES.flatMap((node) => causes(world, node))).toEqual(['superseded', 'superseded']);
    expect(world.events('job-j1', 'ExecutionReserved')).toHaveLength(3);
  });

  it('leaves a node out whose ledger keeps refusing, behind claims of the same plan that it took', async () => {
    const world = await worldOf(['n1']);
    await world.looping();
    // The view is wrong, whatever the reason: it holds the node for larger than its ledger does.
    world.view.cluster.nodes.get('n1')!.total.cpu *= 3;
    await world.submit('j1', { ...CORE, count: 3 });
    await world.time.advanceAsync(500);
    expect(world.types('job-j1')).toEqual(['JobRequeued', 'PlacementDecided']);
    expect(world.events('job-j1', 'JobRequeued')[0]?.data).toMatchObject({ exclude: { nodeId: 'n1' }, partition: 1 });
    expect(world.types('node-n1')).toEqual(['CapacityReserved', 'CapacityReleased']);
  });

  it('P-01 writes nothing when it is empty', async () => {
    const world = await worldOf([]);
    await world.looping();
    await world.submit('j1', CORE);
    await world.time.advanceAsync(10);
    const before = world.memory.events.length;
    await world.node('n1', { cpu: 0.5 });
    await world.onNode('n1', { type: 'CordonNode', reason: 'x', at: world.now() });
    await world.onNode('n1', { type: 'UncordonNode', at: world.now() });
    await world.time.advanceAsync(10);
    expect(world.types('job-j1').slice(1)).toEqual(['PlacementDecided']);
    expect(world.memory.events.slice(before).filter(({ stream }) => stream === 'job-j1')).toHaveLength(1);
  });
});

describe('P-02 a control plane that dies between any two writes', () => {
  const crashes = fc.record({
    counts: fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 3 }),
    /** Appends until it dies, and whether the last of them is stored. */
    after: fc.integer({ min: 0, max: 12 }),
    stored: fc.boolean(),
  });

  it('leaves no job that nobody looks at: another one makes up for it, and nothing is held in vain', async () => {
    await fc.assert(
      fc.asyncProperty(crashes, async ({ counts, after, stored }) => {
        const dying: { world?: SchedulingWorld; left: number } = { left: after };
        const append: MemoryFaults['append'] = () => {
          if (!dying.world || (dying.left -= 1) >= 0) return undefined;
          dying.world.store.crash();
          return stored ? undefined : { kind: 'delay-request', by: 1 };
        };
        const world = new SchedulingWorld({ faults: { append } });
        const other = new SchedulingWorld({ beside: world });
        await other.project();
        for (const node of NODES) await other.node(node, { cpu: 20 });
        for (const node of NODES) world.seen.set(node, Number.MAX_SAFE_INTEGER);
        for (const [index, count] of counts.entries()) await other.submit(`j${String(index)}`, { ...CORE, count });
        dying.world = world;
        await world.looping();
        await other.looping();
        await world.time.advanceAsync(14_000);
        for (const [index, count] of counts.entries()) {
          const job = await other.state(`j${String(index)}`);
          expect(job.partitions.map(({ state }) => state)).toEqual(Array.from({ length: count }, () => 'live'));
          for (const { executionId } of liveExecutions(job)) await other.report(executionId, 'confirm');
        }
        // What died with its claims runs out.
        await world.time.advanceAsync(40_000);
        const held = [...other.view.cluster.nodes.values()].flatMap(({ ledger }) => [...ledger.keys()]);
        const live = [...other.view.cluster.jobs.values()].flatMap(({ executions }) => [...executions.keys()]);
        expect(held.sort()).toEqual(live.sort());
      }),
      { numRuns: 40 },
    );
  });
});
