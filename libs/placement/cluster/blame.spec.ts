import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { FailureClass, JobSpec } from '#jobs';
import { second } from '#testing';
import { ending, World } from '../testing/world.js';

const TWO_SIDED = ['infrastructure', 'node-lost', 'timeout'] as const;
const NODES = ['a', 'b', 'c'] as const;

type Outcome = FailureClass | 'success';

const DEMO: Partial<JobSpec> = { count: 2, application: { name: 'r' } };

/** Nodes, and what happened on them: `fails('job', 'a', 'timeout')` is one try of the job there, from its start to that end. */
class Failures extends World {
  constructor() {
    super();
    for (const nodeId of NODES) this.node(nodeId);
  }

  tries(jobId: string, nodeId: string, outcome: Outcome, { partition = 0, at = 0 } = {}): void {
    if (!this.cluster.jobs.has(jobId)) this.job(jobId, DEMO);
    const executionId = this.reserve(jobId, nodeId, {}, partition, second(at));
    this.onJob(jobId, ending(executionId, outcome, second(at)));
    this.release(nodeId, executionId, second(at));
  }

  back(nodeId: string): void {
    this.onNode(nodeId, { type: 'NodeWentOnline', data: { at: second(0) } });
  }

  /** Failures that count against the node: in all, in a row, and for the application. */
  counted(nodeId: string): { failure: number; streak: number; byApplication: number } {
    const node = this.cluster.nodes.get(nodeId)!;
    const { failure, streak } = node.record;
    return { failure, streak, byApplication: node.applicationRecords.get('r')?.failure ?? 0 };
  }
}

const times = (count: number) => ({ failure: count, streak: count, byApplication: count });

describe('whose fault a failure is', () => {
  it.each(TWO_SIDED)('A-34 R-03 %s seen by one part of a job on two nodes is the job, on neither node', (kind) => {
    const world = new Failures();
    world.tries('j', 'a', kind);
    expect(world.counted('a')).toEqual(times(1));
    world.tries('j', 'b', kind);
    world.tries('j', 'c', kind);
    world.tries('j', 'a', kind);
    expect(NODES.map((nodeId) => world.counted(nodeId))).toEqual([times(0), times(0), times(0)]);
  });

  it('A-34 another class, or another part of the job, has its own story', () => {
    const world = new Failures();
    world.tries('j', 'a', 'timeout');
    world.tries('j', 'b', 'infrastructure');
    world.tries('j', 'c', 'timeout', { partition: 1 });
    expect(NODES.map((nodeId) => world.counted(nodeId))).toEqual([times(1), times(1), times(1)]);
  });

  it('A-34 failures of several jobs on one node count each, repeats of one job once', () => {
    const world = new Failures();
    for (let repeat = 0; repeat < 5; repeat += 1) world.tries('j1', 'a', 'infrastructure');
    expect(world.counted('a')).toEqual(times(1));
    world.tries('j2', 'a', 'timeout');
    world.tries('j2', 'a', 'infrastructure');
    expect(world.counted('a')).toEqual(times(2));
    world.tries('j1', 'a', 'infrastructure');
    expect(world.counted('a')).toEqual(times(3));
  });

  it('A-34 a success of others between does not make the repeat news', () => {
    const world = new Failures();
    world.tries('j1', 'a', 'infrastructure');
    world.tries('j2', 'a', 'success');
    world.tries('j1', 'a', 'infrastructure');
    expect(world.counted('a')).toEqual({ failure: 1, streak: 0, byApplication: 1 });
  });

  it('A-34 a part that succeeds is cleared: what it fails later begins anew', () => {
    const world = new Failures();
    world.tries('j', 'a', 'timeout');
    world.tries('j', 'a', 'success');
    world.tries('j', 'b', 'timeout');
    expect([world.counted('a').failure, world.counted('b').failure]).toEqual([1, 1]);
  });

  it('A-34 a service that worked for long is cleared too, and its planned end is nobody', () => {
    const world = new Failures();
    world.job('s', { type: 'service', application: { name: 'r' } });
    const runs = (nodeId: string, outcome: Outcome, from: number, to: number): void => {
      const executionId = world.reserve('s', nodeId);
      world.onJob('s', { type: 'ExecutionStarted', data: { executionId, at: second(from) } });
      world.onJob('s', ending(executionId, outcome, second(to)));
    };
    runs('a', 'timeout', 0, 5);
    expect(world.counted('a')).toEqual(times(0));
    runs('a', 'infrastructure', 10, 20);
    runs('b', 'infrastructure', 30, 630);
    expect([world.counted('a').streak, world.counted('b').streak]).toEqual([1, 1]);
    runs('c', 'infrastructure', 700, 710);
    expect([world.counted('b').streak, world.counted('c').streak]).toEqual([0, 0]);
  });

  it('A-34 a node that did not confirm pays for it, wherever else the job is not confirmed', () => {
    const world = new Failures();
    for (const nodeId of NODES) world.tries('j', nodeId, 'expired');
    expect(NODES.map((nodeId) => world.counted(nodeId))).toEqual([times(0.25), times(0.25), times(0.25)]);
  });

  it('A-34 an outage that took several jobs stays the node, whatever becomes of the first of them', () => {
    const world = new Failures();
    world.tries('j1', 'a', 'node-lost');
    world.tries('j2', 'a', 'node-lost');
    expect(world.counted('a')).toEqual(times(1));
    world.tries('j1', 'b', 'node-lost');
    world.tries('j2', 'c', 'node-lost');
    expect(NODES.map((nodeId) => world.counted(nodeId))).toEqual([times(1), times(0), times(0)]);
  });

  it('A-34 an outage that took one job is taken back with it, and counts for the next one that it took', () => {
    const world = new Failures();
    world.tries('j1', 'a', 'node-lost');
    world.tries('j1', 'b', 'node-lost');
    expect(world.counted('a')).toEqual(times(0));
    world.tries('j2', 'a', 'node-lost');
    expect(world.counted('a')).toEqual(times(1));
    world.back('a');
    world.tries('j3', 'a', 'node-lost');
    expect(world.counted('a')).toEqual(times(2));
  });

  it('R-03 the part that saw a class on two nodes avoids none of them any more', () => {
    const world = new Failures();
    world.job('j');
    const requeued = (change: object) =>
      world.onJob('j', {
        type: 'JobRequeued',
        data: { partition: 0, cause: 'timeout', message: 'x', notBefore: second(1), at: second(1), ...change },
      });
    requeued({ avoid: 'a' });
    expect(world.cluster.jobs.get('j')?.partitions[0]?.avoid).toEqual(['a']);
    requeued({ seenOn: 2 });
    expect(world.cluster.jobs.get('j')?.partitions[0]?.avoid).toEqual([]);
  });
});

/** What happens on a node, each by a job of its own. */
const others = fc.array(
  fc.record({
    nodeId: fc.constantFrom(...NODES),
    outcome: fc.constantFrom<Outcome[]>('success', 'infrastructure', 'timeout', 'application', 'declined'),
  }),
  { maxLength: 20 },
);

/** When, by the number of what happened before, a job of its own fails, and where. */
const poison = fc.record({
  class: fc.constantFrom(...TWO_SIDED),
  tries: fc.array(fc.tuple(fc.nat({ max: 20 }), fc.constantFrom(...NODES)), { minLength: 2, maxLength: 6 }),
});

describe('a job that fails the same way wherever it goes', () => {
  it('A-34 leaves every node as if it had never been there', () => {
    fc.assert(
      fc.property(others, poison, (happened, { class: kind, tries }) => {
        fc.pre(new Set(tries.map(([, nodeId]) => nodeId)).size > 1);
        const [with_, without] = [new Failures(), new Failures()];
        for (let step = 0; step <= 20; step += 1) {
          for (const [when, nodeId] of tries) if (when === step) with_.tries('poison', nodeId, kind);
          const one = happened[step];
          if (!one) continue;
          for (const world of [with_, without]) world.tries(`j${step}`, one.nodeId, one.outcome);
        }
        for (const nodeId of NODES) expect(with_.counted(nodeId)).toEqual(without.counted(nodeId));
      }),
    );
  });

  it('A-34 takes back what is left of a charge that has aged with the record', () => {
    const world = new Failures();
    const week = 7 * 86_400;
    world.tries('other', 'a', 'timeout', { at: week });
    world.tries('j', 'a', 'infrastructure', { at: week });
    world.tries('fine', 'a', 'success', { at: 1.5 * week });
    world.tries('fine', 'a', 'success', { at: 2.5 * week });
    expect(world.counted('a').failure).toBeCloseTo(0.75, 12);
    world.tries('j', 'b', 'infrastructure', { at: 3 * week });
    expect(world.counted('a').failure).toBeCloseTo(0.375, 12);
  });

  it('A-34 otherwise no more is counted than what failed, and nothing below nought', () => {
    const any = fc.array(
      fc.tuple(
        fc.nat({ max: 3 }),
        fc.nat({ max: 1 }),
        fc.constantFrom(...NODES),
        fc.constantFrom<Outcome[]>(...TWO_SIDED, 'success', 'expired'),
      ),
      { maxLength: 30 },
    );
    fc.assert(
      fc.property(any, (tries) => {
        const world = new Failures();
        for (const [job, partition, nodeId, outcome] of tries) world.tries(`j${job}`, nodeId, outcome, { partition });
        for (const nodeId of NODES) {
          const failed = tries.filter(([, , where, outcome]) => where === nodeId && outcome !== 'success').length;
          const { failure, streak, byApplication } = world.counted(nodeId);
          for (const count of [failure, streak, byApplication]) {
            expect(count).toBeGreaterThanOrEqual(0);
            expect(count).toBeLessThanOrEqual(failed);
          }
        }
      }),
    );
  });
});
