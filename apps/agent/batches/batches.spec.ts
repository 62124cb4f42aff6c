import { describe, expect, it } from '@jest/globals';
import type { Ending } from '../executions/ending.js';
import { failure } from '../executions/ending.js';
import { outOfMemory } from '../executions/limits.js';
import { someAssignment } from '../testing/assignments.js';
import { afterBatch, batchEnvironment, batchesOf, progressOf } from './batches.js';
import type { Batches } from './batches.js';

const CONTRACT = { cpu: 1, memory: 1000, disk: 0, ioSlots: 0, gpus: [] };
const batch = { min: 2, memoryPerItem: 10, gpuMemoryPerItem: 0 };
const items = { from: 100, to: 120, of: 300 };
const begun = (batchSize = 8): Batches => {
  const batches = batchesOf(someAssignment('job1.e1', ['x'], { batch: { ...batch, items } }), {
    ...CONTRACT,
    batchSize,
  });
  if (!batches) throw new Error('no batches');
  return batches;
};
const running = (from: number, to: number, of = begun()): Batches => ({
  ...of,
  sequence: { ...of.sequence, next: from },
  current: { from, to, stdout: 0, stderr: 0 },
});
const well: Ending = { exitCode: 0, cpuSeconds: 2 };
const short: Ending = { exitCode: 137, cpuSeconds: 3, failure: outOfMemory(2000, 1000) };

describe('G-57 the batches of a task', () => {
  it('are those of its partition, as large as was granted; a task without items has none', () => {
    expect(begun().sequence).toEqual({ items: { from: 100, to: 120 }, next: 100, most: 8, min: 2, batches: 0 });
    const one = someAssignment('job1.e1', ['x'], { batch });
    expect([
      batchesOf(one, { ...CONTRACT, batchSize: 8 }),
      batchesOf(someAssignment('job1.e1', ['x']), CONTRACT),
    ]).toEqual([undefined, undefined]);
  });

  it('G-26 tell the task its items, and add up its progress', () => {
    const batches = running(108, 112);
    expect(batchEnvironment(batches)).toEqual({
      ESCALON_BATCH_FROM: '108',
      ESCALON_BATCH_TO: '112',
      ESCALON_BATCH_SIZE: '4',
      ESCALON_BATCH_ITEMS: '300',
    });
    expect(progressOf(batches, { fraction: 0.5 })).toEqual({ fraction: 0.5, message: '8 of 20 items' });
    expect(progressOf(batches, { fraction: 1, message: 'saved' }).message).toBe('8 of 20 items: saved');
    expect(batchEnvironment(begun())).toEqual({});
  });

  it('follow one another until all are done, with the CPU time of all', () => {
    const first = afterBatch(running(100, 108), well, 600);
    expect(first.ending).toBeUndefined();
    expect(first.batches).toMatchObject({ cpuSeconds: 2, last: { items: 8, peakMemory: 600 } });
    expect(first.batches.sequence).toMatchObject({ next: 108, batches: 1 });
    const last = afterBatch(running(112, 120, first.batches), well, 600);
    expect(last).toMatchObject({ ending: { exitCode: 0, cpuSeconds: 4 }, batches: { sequence: { next: 120 } } });
    expect(last.ending).not.toHaveProperty('failure');
  });

  it('G-25 are halved when one runs out of memory, until they may not be', () => {
    const halved = afterBatch(running(100, 108), short, 1000);
    expect(halved).toMatchObject({ batches: { sequence: { next: 100, most: 4, batches: 0 }, cpuSeconds: 3 } });
    expect(halved.ending).toBeUndefined();
    const given = afterBatch(running(100, 102, halved.batches), short, 1000);
    expect(given.ending).toMatchObject({
      cpuSeconds: 6,
      failure: {
        code: 'out-of-memory',
        diagnostics: { memoryLimit: 1000, items: { done: 0, of: 20, batches: 0, batch: { from: 100, to: 102 } } },
      },
    });
  });

  it('end with the first other failure, which tells how far they came', () => {
    const broken: Ending = { exitCode: 3, cpuSeconds: 1, failure: failure('application', 'exit-code', 'exit code 3') };
    expect(afterBatch(running(108, 116), broken, 10).ending?.failure?.diagnostics).toEqual({
      items: { done: 8, of: 20, batches: 0, batch: { from: 108, to: 116 } },
    });
    const stopped: Ending = { cpuSeconds: 0, failure: failure('cancelled', 'stopped', 'stopped') };
    const between = afterBatch(running(100, 108), well, 10).batches;
    expect(afterBatch(between, stopped, 0).ending?.failure?.diagnostics).toEqual({
      items: { done: 8, of: 20, batches: 1 },
    });
  });
});
