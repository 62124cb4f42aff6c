import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { RecordedEvent } from '#event-store';
import type { ExecutionReserved, JobSpec } from '#jobs';
import type { Millis } from '#kernel';
import { NODE_STREAM_PREFIX } from '#nodes';
import type { Discipline } from '#nodes';
import { MOST_UNCONFIRMED } from '#placement';
import { verifyPoint } from './derivation/verify.js';
import { DecisionWalk } from './derivation/walk.js';
import { SchedulingWorld } from './testing/scheduling-world.js';

const NODES = ['n1', 'n2'];
const TINY = { cpu: 0.1, memory: 1, disk: 0, ioSlots: 0 };
const JOBS = 150;
/** Every fiftieth job has three. */
const PARTS = JOBS + (JOBS / 50) * 2;
const MINUTE: Millis = 60_000;

/** How a node answers what it is given, one after another. */
interface Agents {
  /** Milliseconds for each answer. */
  readonly pace: Millis;
  /** Every so many-th reservation is declined, or is never answered; 0 for none. */
  readonly declines: number;
  readonly silent: number;
  /** How long each task takes: none gives anything back before all are placed, or all do. */
  readonly runs: Millis;
}

const agents: fc.Arbitrary<Agents> = fc.record({
  pace: fc.integer({ min: 1, max: 150 }),
  // Not so many that the node is on probation before its first task has succeeded.
  declines: fc.constantFrom(0, 23),
  silent: fc.constantFrom(0, 0, 41),
  runs: fc.constantFrom(0, 20 * MINUTE),
});

const disciplines = fc.constantFrom<(Discipline | undefined)[]>(undefined, undefined, 'fifo', 'backfill');

/** A world whose nodes confirm slowly. */
class SlowToConfirm {
  readonly world = new SchedulingWorld({ options: { aging: 0 } });
  /** What each node that is at it has yet to answer. */
  private readonly given = new Map<string, string[]>();
  private count = 0;

  constructor(private readonly agents: Agents) {}

  async begin(discipline: Discipline | undefined): Promise<void> {
    const { world } = this;
    await world.project();
    for (const node of NODES) await world.node(node, { cpu: 1_000 });
    await world.looping();
    for (const node of NODES) {
      const pool = discipline && { name: 'lab', discipline };
      if (pool) await world.onNode(node, { type: 'ChangePool', pool, at: world.now() });
    }
    world.time.every(5_000, () => NODES.forEach((node) => world.seen.set(node, world.time.now())));
    world.view.listen(({ type, data }) => {
      if (type === 'ExecutionReserved') this.give(data as ExecutionReserved['data']);
    });
  }

  private give({ nodeId, executionId }: ExecutionReserved['data']): void {
    const waiting = this.given.get(nodeId);
    if (waiting) waiting.push(executionId);
    else void this.answer(nodeId, executionId);
  }

  /** As long as there is one. */
  private async answer(nodeId: string, first: string): Promise<void> {
    const { world, given, agents } = this;
    const waiting = [first];
    given.set(nodeId, waiting);
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      await world.pause(agents.pace);
      this.count += 1;
      if (isEvery(agents.silent, this.count)) continue;
      if (isEvery(agents.declines, this.count)) await world.report(next, 'decline', { reason: 'busy' });
      else {
        await world.report(next, 'confirm');
        void this.run(next);
      }
    }
    given.delete(nodeId);
  }

  private async run(executionId: string): Promise<void> {
    const { world } = this;
    await world.report(executionId, 'start');
    if (executionId.startsWith('daemon')) return;
    await world.pause(this.agents.runs);
    await world.report(executionId, 'succeed', { exitCode: 0, artifacts: [], consumption: {} });
  }
}

const isEvery = (nth: number, count: number): boolean => nth > 0 && count % nth === 0;

/** The most that each node had at once without having confirmed it, by the log alone. */
const mostUnconfirmed = (log: readonly RecordedEvent[]): number => {
  const open = new Map<string, Set<string>>();
  let most = 0;
  for (const { stream, type, data } of log) {
    const { executionId = '' } = data as { executionId?: string };
    if (type === 'CapacityReserved') {
      const node = stream.slice(NODE_STREAM_PREFIX.length);
      const on = open.get(node) ?? new Set();
      open.set(node, on.add(executionId));
      most = Math.max(most, on.size);
    }
    if (type === 'ReservationConfirmed' || type === 'CapacityReleased')
      for (const on of open.values()) on.delete(executionId);
  }
  return most;
};

const notDerived = (log: readonly RecordedEvent[]): unknown[] => {
  const walk = new DecisionWalk(undefined, log.length);
  const wrong: unknown[] = [];
  const judge = (points: ReturnType<DecisionWalk['push']>): void => {
    for (const point of points) {
      const verdict = verifyPoint(point);
      if (verdict.kind !== 'verified') wrong.push([point.recorded.jobId, verdict]);
    }
  };
  for (const event of log) judge(walk.push(event));
  judge(walk.end());
  return wrong;
};

describe('a burst of tiny jobs on nodes that are slow to confirm', () => {
  it('A-84 A-85 S-06 gives no node more than it may have unconfirmed, and every job its place in the end', async () => {
    await fc.assert(
      fc.asyncProperty(agents, disciplines, fc.integer({ min: 1, max: 5 }), async (how, discipline, shapes) => {
        const slow = new SlowToConfirm(how);
        const { world } = slow;
        await slow.begin(discipline);
        const spec = (index: number): Partial<JobSpec> => ({
          resources: { ...TINY, memory: 1 + (index % shapes) },
          count: index % 50 === 0 ? 3 : 1,
          timeouts: { confirm: 30 },
        });
        await Promise.all(Array.from({ length: JOBS }, (_, index) => world.submit(`j${String(index)}`, spec(index))));
        await world.submit('ops', { type: 'ops', resources: TINY });
        await world.submit('daemon', { type: 'daemon', resources: TINY });
        const log = world.memory.events;
        await world.time.advanceAsync(10 * MINUTE);
        expect(log.filter(({ type }) => type === 'ExecutionStarted')).toHaveLength(PARTS + 2 * NODES.length);
        await world.time.advanceAsync(30 * MINUTE);

        expect(mostUnconfirmed(log)).toBe(MOST_UNCONFIRMED);
        expect(log.filter(({ type }) => type === 'JobCompleted')).toHaveLength(JOBS + 1);
        expect(log.filter(({ type }) => type === 'ExecutionSucceeded')).toHaveLength(PARTS + NODES.length);
        if (how.silent === 0) expect(log.filter(({ type }) => type === 'ReservationExpired')).toEqual([]);
        const daemon = Object.values((await world.state('daemon')).executions);
        expect(
          daemon
            .filter(({ state }) => state === 'running')
            .map(({ nodeId }) => nodeId)
            .sort(),
        ).toEqual(NODES);
        for (const { unconfirmed } of world.view.cluster.nodes.values()) expect(unconfirmed).toBe(0);
        expect(notDerived(log)).toEqual([]);
      }),
      { numRuns: 8 },
    );
  }, 240_000);
});
