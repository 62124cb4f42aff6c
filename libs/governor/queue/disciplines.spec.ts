import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { FakeTime } from '#kernel';
import { laneByNeed, ResourceGovernor, TaskQueue } from '../index.js';
import type { Discipline, Estimate } from '../index.js';
import { Bench, capacity, estimate, settle } from '../testing/bench.js';

const lane = (discipline: Discipline, workers = 9) => [{ name: 'tasks', workers, discipline }];
const needs = (cpu: number, duration?: number): Estimate =>
  estimate({ cpu }, duration === undefined ? {} : { duration });

describe('G-56 priorities', () => {
  it('higher first, equals as they came, and nobody passes the first', async () => {
    const bench = new Bench({}, lane('priority'));
    await bench.start('a', needs(4));
    for (const [id, priority] of [
      ['low', 1],
      ['high', 9],
      ['low-too', 1],
      ['high-too', 9],
    ] as const)
      bench.submit(id, needs(3), { priority });
    bench.submit('small', needs(1));
    expect(bench.queue.lane('tasks')?.waiting).toEqual(['high', 'high-too', 'low', 'low-too', 'small']);
    await bench.finish('a');
    expect(bench.started()).toEqual(['a', 'high']);
  });

  it('take nothing from what runs', async () => {
    const bench = new Bench({}, lane('priority'));
    await bench.start('a', needs(4));
    await bench.start('b', needs(4), { priority: 100 });
    expect([bench.state('a'), bench.state('b')]).toEqual(['running', 'pending']);
  });
});

describe('G-56 backfill', () => {
  it('says when the first in line is expected to start', async () => {
    const bench = new Bench({}, lane('backfill'));
    await bench.start('a', needs(2, 100));
    await bench.start('b', needs(2, 50));
    await bench.start('head', needs(4));
    expect(bench.queue.task('head')?.expectedStart).toBe(100_000);
    await bench.finish('a');
    expect(bench.queue.task('head')?.expectedStart).toBe(50_000);
    bench.time.advance(60_000);
    // Overdue: expected at any moment.
    expect(bench.queue.task('head')?.expectedStart).toBe(60_000);
  });

  it('starts a later one that ends before the first can start, and no longer one', async () => {
    const bench = new Bench({}, lane('backfill'));
    await bench.start('a', needs(3, 100));
    await bench.start('head', needs(4, 10));
    await bench.start('long', needs(1, 101));
    await bench.start('unknown', needs(1));
    expect(bench.queue.task('long')?.reason?.code).toBe('backfill.delays-head');
    await bench.start('short', needs(1, 100));
    expect(bench.started()).toEqual(['a', 'short']);
    await bench.finish('short');
    await bench.finish('a');
    expect(bench.started()).toEqual(['a', 'short', 'head']);
  });

  it('starts a long one too where the first does not need the room', async () => {
    const bench = new Bench({}, lane('backfill'));
    await bench.start('a', needs(3, 100));
    await bench.start('head', needs(3, 10));
    await bench.start('forever', needs(1));
    expect(bench.started()).toEqual(['a', 'forever']);
    expect(bench.queue.task('head')?.expectedStart).toBe(100_000);
  });

  it('starts nothing while nobody knows when the first can', async () => {
    const bench = new Bench({}, lane('backfill'));
    await bench.start('a', needs(3));
    await bench.start('head', needs(4));
    await bench.start('short', needs(1, 1));
    expect([bench.started(), bench.queue.task('head')?.expectedStart]).toEqual([['a'], undefined]);
  });

  it('does not count on the end of a paused task', async () => {
    const bench = new Bench({}, lane('backfill'));
    await bench.start('a', needs(3, 100));
    await bench.start('head', needs(4));
    bench.queue.pause('a');
    expect(bench.queue.task('head')?.expectedStart).toBeUndefined();
    bench.time.advance(7000);
    bench.queue.resume('a');
    expect(bench.queue.task('head')?.expectedStart).toBe(107_000);
  });

  it('leaves the first the worker that it will need', async () => {
    const bench = new Bench({}, [...lane('backfill', 1), { name: 'other' }]);
    await bench.start('a', needs(3, 100), { lane: 'other' });
    await bench.start('head', needs(3, 10));
    // There would be room beside the first, but the only worker would be late.
    await bench.start('long', needs(1, 101));
    await bench.start('short', needs(1, 99));
    expect(bench.started()).toEqual(['a', 'short']);
    expect(bench.queue.task('head')?.expectedStart).toBe(100_000);
  });

  it('does not make the batch of the first smaller', async () => {
    const bench = new Bench({}, lane('backfill'));
    const batch = { size: 10, min: 1, memoryPerItem: 100, gpuMemoryPerItem: 0 };
    await bench.start('a', estimate({ cpu: 4 }, { duration: 100 }));
    await bench.start('head', estimate({ cpu: 1 }, { batch }));
    await bench.start('long', estimate({ memory: 100 }, { duration: 101 }));
    await bench.start('short', estimate({ memory: 100 }, { duration: 99 }));
    expect(bench.started()).toEqual(['a', 'short']);
  });

  it('never delays the first beyond what was expected of it, when durations are upper bounds', async () => {
    let seenPassing = 0;
    const task = fc.record({
      cpu: fc.integer({ min: 1, max: 4 }),
      duration: fc.integer({ min: 1, max: 20 }),
      /** Part of the estimate that it really takes. */
      used: fc.constantFrom(1, 1, 0.5),
      gap: fc.integer({ min: 0, max: 6 }),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(task, { minLength: 3, maxLength: 12 }),
        fc.integer({ min: 1, max: 4 }),
        async (all, workers) => {
          const time = new FakeTime();
          const governor = new ResourceGovernor(capacity());
          const queue = new TaskQueue({ governor, clock: time, lanes: lane('backfill', workers) });
          const expected = new Map<string, number>();
          const started = new Map<string, number>();
          let passed = 0;
          const look = (): void => {
            const [head] = queue.lane('tasks')?.waiting ?? [];
            const start = head === undefined ? undefined : queue.task(head)?.expectedStart;
            if (head === undefined || start === undefined) return;
            expect(start).toBeLessThanOrEqual(expected.get(head) ?? Infinity);
            expected.set(head, start);
          };
          const work = (id: string, seconds: number) => async () => {
            started.set(id, time.now());
            const [head] = queue.lane('tasks')?.waiting ?? [];
            if (head !== undefined && Number(head) < Number(id)) passed += 1;
            await new Promise<void>((resolve) => void time.after(seconds * 1000, resolve));
          };
          let index = 0;
          for (const { cpu, duration, used, gap } of all) {
            const id = `${index++}`;
            queue.submit({ id, estimate: needs(cpu, duration), work: work(id, duration * used) });
            await settle();
            look();
            for (let second = 0; second < gap; second += 1) {
              await time.advanceAsync(1000);
              look();
            }
          }
          while (started.size < all.length) {
            await time.advanceAsync(1000);
            look();
          }
          for (const [id, at] of expected) expect(started.get(id)).toBeLessThanOrEqual(at);
          seenPassing += passed;
        },
      ),
      { numRuns: 200 },
    );
    expect(seenPassing).toBeGreaterThan(50);
  });
});

describe('G-58 separate pools', () => {
  const pools = [{ name: 'cpu' }, { name: 'io' }, { name: 'gpu' }];
  const gpus = [{ id: 'g', model: 'T4', memory: 10 }];
  const gpu = estimate({ gpu: { count: 1, share: 1, models: [] } });

  it('have lines and workers of their own: one that waits holds up none of the others', async () => {
    const bench = new Bench({ gpus }, pools, laneByNeed);
    await bench.start('g1', gpu);
    await bench.start('g2', gpu);
    await bench.start('i1', estimate({ ioSlots: 1 }));
    await bench.start('c1', needs(4));
    await bench.start('c2', needs(1));
    expect(bench.started()).toEqual(['g1', 'i1', 'c1']);
    expect(['g2', 'i1', 'c2'].map((id) => bench.queue.task(id)?.lane)).toEqual(['gpu', 'io', 'cpu']);
    await bench.finish('c1');
    expect(bench.state('c2')).toBe('running');
  });

  it('share one budget: what one holds, another waits for, and is woken for', async () => {
    const bench = new Bench({ gpus }, pools, laneByNeed);
    await bench.start('c1', needs(4));
    await bench.start('i1', estimate({ cpu: 1, ioSlots: 1 }));
    expect([bench.state('i1'), bench.queue.task('i1')?.reason?.code]).toEqual(['pending', 'capacity.cpu']);
    await bench.finish('c1');
    expect(bench.state('i1')).toBe('running');
  });

  it('offer what becomes free to the first that has waited longest', async () => {
    const bench = new Bench({}, pools, laneByNeed);
    await bench.start('c1', needs(4));
    await bench.start('i1', estimate({ cpu: 3, ioSlots: 1 }));
    await bench.start('c2', needs(3));
    await bench.finish('c1');
    expect([bench.state('i1'), bench.state('c2')]).toEqual(['running', 'pending']);
  });

  it('can be chosen by name, and depend on one another', async () => {
    const bench = new Bench({}, pools);
    await bench.start('a', needs(1), { lane: 'io' });
    await bench.start('b', needs(1), { lane: 'gpu', dependsOn: [{ task: 'a', when: 'completed' }] });
    expect([bench.queue.task('a')?.lane, bench.state('b')]).toEqual(['io', 'blocked']);
    await bench.finish('a');
    expect(bench.state('b')).toBe('running');
  });
});

describe('G-59 budgets stay with the governor', () => {
  it('G-03 nothing of the queue uses what budgets are computed with', () => {
    // Sequences know which items are done; how many come next they are told.
    for (const file of globSync('libs/governor/{queue,sequence}/*.ts', { exclude: ['**/*.spec.ts'] })) {
      const values = [...readFileSync(file, 'utf8').matchAll(/^import (?!type).*from '(.*)';$/gm)].map(
        ([, from]) => from,
      );
      const outside = values.filter((from) => !from!.startsWith('./'));
      const allowed = ['../frozen.js', '../budget/index.js', '../sequence/sequence.js', '#kernel'];
      expect(allowed).toEqual(expect.arrayContaining(outside));
    }
  });

  it.each(['fifo', 'priority', 'backfill'] as const)('%s starts nothing that was not granted', async (discipline) => {
    const wait = { kind: 'WAIT' as const, reason: { code: 'no', message: 'no' } };
    const real = new ResourceGovernor(capacity());
    const queue = new TaskQueue({
      governor: {
        reserve: () => wait,
        reserveBehind: () => wait,
        forecast: () => ({ at: 1000, items: 0 }),
        adopt: (contract) => real.adopt(contract),
        release: (reservation) => real.release(reservation),
        isActive: (reservation) => real.isActive(reservation),
      },
      clock: new FakeTime(),
      lanes: lane(discipline),
    });
    let called = 0;
    for (const id of ['a', 'b', 'c']) queue.submit({ id, estimate: needs(1, 1), work: () => (called += 1) });
    queue.resourcesChanged();
    await settle();
    expect([called, queue.lane('tasks')?.waiting]).toEqual([0, ['a', 'b', 'c']]);
  });
});
