import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { FakeTime } from '#kernel';
import { ResourceGovernor, runInBatches, TaskQueue } from '../index.js';
import type { BatchSequence, SequenceEnd, Step } from '../index.js';
import { Bench, capacity, estimate, settle } from '../testing/bench.js';

const of = (size: number, min: number) => ({
  ...estimate(),
  batch: { size, min, memoryPerItem: 100, gpuMemoryPerItem: 0 },
});
const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index);
const holdMemory = (bench: Bench, memory: number) =>
  bench.governor.adopt({ cpu: 0, memory, disk: 0, ioSlots: 0, gpus: [] });

describe('G-57 adaptive batch sequences', () => {
  it('go on in batches of the size that is granted, until all items are done', async () => {
    const bench = new Bench();
    const sizes: number[] = [];
    const held = holdMemory(bench, 600);
    const end = await runInBatches(bench.queue, {
      id: 's',
      items: numbers(20),
      estimate: of(8, 2),
      work: (items, contract) => {
        expect(items).toHaveLength(contract.batchSize!);
        sizes.push(items.length);
        // There is room again while the second runs.
        if (sizes.length === 2) bench.governor.release(held);
      },
    });
    expect([end, sizes]).toEqual([{ state: 'completed', done: 20, batches: 4 }, [4, 4, 8, 4]]);
  });

  it('take the last few even where they are fewer than the minimum', async () => {
    const sizes: number[] = [];
    const sequence = {
      id: 's',
      items: numbers(11),
      estimate: of(5, 4),
      work: (items: readonly number[]) => sizes.push(items.length),
    };
    expect(await runInBatches(new Bench().queue, sequence)).toMatchObject({ state: 'completed', done: 11 });
    expect(sizes).toEqual([5, 5, 1]);
  });

  it('let others have their turn in between', async () => {
    const bench = new Bench();
    const order: string[] = [];
    const ended = runInBatches(bench.queue, {
      id: 's',
      items: numbers(20),
      estimate: of(10, 1),
      work: () => order.push('s'),
    });
    bench.queue.submit({ id: 'other', estimate: estimate(), work: () => order.push('other') });
    await ended;
    expect(order).toEqual(['s', 'other', 's']);
  });

  const sequence = (more: Partial<BatchSequence<number>>): BatchSequence<number> => ({
    id: 's',
    items: numbers(9),
    estimate: of(3, 1),
    work: () => undefined,
    ...more,
  });

  it('end with the first batch that fails, and say how many items are done', async () => {
    let calls = 0;
    const work = () => {
      if (++calls === 2) throw new Error('no');
    };
    const end: SequenceEnd = await runInBatches(new Bench().queue, sequence({ work }));
    expect(end).toMatchObject({ state: 'failed', done: 3, batches: 1, reason: { code: 'task.threw', message: 'no' } });
  });

  it('tell why not even one item can be done', async () => {
    const estimate = { ...of(3, 1), batch: { ...of(3, 1).batch, memoryPerItem: 1001 } };
    expect(await runInBatches(new Bench().queue, sequence({ estimate }))).toMatchObject({
      state: 'failed',
      done: 0,
      reason: { code: 'capacity.memory' },
    });
    const bench = new Bench();
    void bench.queue.destroy();
    expect(await runInBatches(bench.queue, sequence({}))).toMatchObject({ reason: { code: 'QUEUE_CLOSED' } });
  });

  it('can be cancelled in a batch, and before the first', async () => {
    const bench = new Bench();
    const stop = new AbortController();
    const ended = runInBatches(
      bench.queue,
      sequence({
        signal: stop.signal,
        work: (_, __, { signal }) => new Promise((resolve) => signal.addEventListener('abort', resolve)),
      }),
    );
    await settle();
    stop.abort();
    expect(await ended).toMatchObject({ state: 'cancelled', done: 0, reason: { code: 'task.cancelled' } });
    expect(bench.governor.contracts()).toEqual([]);
    expect(await runInBatches(bench.queue, sequence({ signal: stop.signal }))).toEqual({
      state: 'cancelled',
      done: 0,
      batches: 0,
      reason: { code: 'task.cancelled', message: 'the sequence was cancelled' },
    });
  });

  it('can be cancelled between two batches, and say how many items are done', async () => {
    const stop = new AbortController();
    const governor = new ResourceGovernor(capacity());
    const observe = ({ step }: Step): void => (step === 'ended' ? stop.abort() : undefined);
    const queue = new TaskQueue({ governor, clock: new FakeTime(), observe });
    expect(await runInBatches(queue, sequence({ signal: stop.signal }))).toMatchObject({
      state: 'cancelled',
      done: 3,
      batches: 1,
    });
  });

  it('do each item exactly once, in order, whatever else comes and goes', async () => {
    const plan = fc.record({
      items: fc.nat({ max: 40 }),
      size: fc.integer({ min: 1, max: 12 }),
      holds: fc.array(fc.integer({ min: 0, max: 900 }), { minLength: 1, maxLength: 6 }),
    });
    await fc.assert(
      fc.asyncProperty(plan, async ({ items, size, holds }) => {
        const bench = new Bench();
        const done: number[] = [];
        let batch = 0;
        let held = holdMemory(bench, holds[0]!);
        const work = (part: readonly number[]): void => {
          done.push(...part);
          bench.governor.release(held);
          held = holdMemory(bench, Math.min(holds[++batch % holds.length]!, 900));
        };
        const end = await runInBatches(bench.queue, { id: 's', items: numbers(items), estimate: of(size, 1), work });
        expect([end.state, end.done, done]).toEqual(['completed', items, numbers(items)]);
      }),
      { numRuns: 300 },
    );
  });
});
