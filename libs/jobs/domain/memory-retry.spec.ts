import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { aFailure, aJobSpec, aPlacement, aReport, aSubmission, deciderSpec } from '#testing';
import { jobDecider } from './decide.js';
import type { RetryPolicy } from './job-spec.js';
import { memoryAfter, OUT_OF_MEMORY } from './memory-retry.js';

const GIB = 1024 ** 3;
const spec = deciderSpec(jobDecider);

const asking = (change: Partial<RetryPolicy>) =>
  aJobSpec({
    resources: { cpu: 1, memory: 4 * GIB, disk: 0, ioSlots: 0 },
    retry: { ...aJobSpec().retry, memory: { factor: 1.5, max: 8 * GIB }, ...change },
  });

const shortage = (execution: number, at: number, change = {}) =>
  aFailure(execution, at, {
    class: 'resource',
    code: OUT_OF_MEMORY,
    message: 'the task ran out of memory',
    exitCode: 137,
    ...change,
  });

const start = (execution: number, at: number) => aReport(execution, at, { type: 'start' });

/** The memory that each requeueing of such a job tells, and how it ends. */
const story = (change: Partial<RetryPolicy>, tries: number, failure = shortage) => {
  let round = spec.after(aSubmission({ spec: asking(change) }));
  for (let execution = 1; execution <= tries && !round.state.ended; execution += 1) {
    const at = execution * 1000;
    const placed = spec.given(...round.history, ...round.when(aPlacement(execution, at)).events);
    const running = spec.given(...placed.history, ...placed.when(start(execution, at + 1)).events);
    round = spec.given(...running.history, ...running.when(failure(execution, at + 2)).events);
  }
  const requeued = round.history.flatMap((event) => (event.type === 'JobRequeued' ? [event.data.memory] : []));
  return { requeued, job: round.state };
};

describe('a try that ran out of memory', () => {
  it('R-03 is made again with the factor as much, until the most that the job allows was not enough', () => {
    const { requeued, job } = story({ attempts: 9 }, 9);
    expect(requeued).toEqual([6 * GIB, 8 * GIB]);
    expect(job.partitions[0]).toMatchObject({ failures: 3, shortages: 3 });
    expect(job.ending).toEqual({ class: 'resource', code: OUT_OF_MEMORY, message: 'the task ran out of memory' });
  });

  it('R-02 R-03 has no more tries than any other', () => {
    expect(story({ attempts: 2 }, 9)).toMatchObject({ requeued: [6 * GIB], job: { ended: 'failed' } });
  });

  it('R-03 goes on with the most when its class is retried anyway', () => {
    const { requeued, job } = story({ attempts: 5, on: ['resource'] }, 4);
    expect(requeued).toEqual([6 * GIB, 8 * GIB, 8 * GIB, 8 * GIB]);
    expect(job.ended).toBeUndefined();
  });

  it('R-03 is what only that code means: a full disk ends the job', () => {
    const full = (execution: number, at: number) => shortage(execution, at, { code: 'disk-full' });
    expect(story({}, 3, full)).toMatchObject({ requeued: [], job: { ended: 'failed' } });
  });

  it('R-03 is not made again for a job that does not allow it', () => {
    const { memory: _memory, ...retry } = asking({}).retry;
    const plain = spec.after(aSubmission({ spec: aJobSpec({ retry }) }), aPlacement(1, 1), start(1, 2));
    plain.when(shortage(1, 10)).thenTypes('ExecutionFailed', 'JobFailed');
  });

  it('R-05 the count survives failures of other classes and reservations that came back', () => {
    const mixed = (execution: number, at: number) =>
      execution === 2 ? aFailure(execution, at) : shortage(execution, at);
    expect(story({ attempts: 9 }, 4, mixed).requeued).toEqual([6 * GIB, undefined, 8 * GIB]);
  });
});

describe('the memory of the next try', () => {
  const shape = fc.record({
    memory: fc.integer({ min: 1024, max: 2 ** 45 }),
    factor: fc.double({ min: 1.001, max: 100, noNaN: true }),
    more: fc.integer({ min: 0, max: 2 ** 45 }),
  });

  it('R-03 rises with each shortage, in whole bytes, from what the job asks for to its max', () => {
    fc.assert(
      fc.property(shape, fc.integer({ min: 0, max: 200 }), ({ memory, factor, more }, shortages) => {
        const max = memory + more;
        const job = aJobSpec({
          resources: { cpu: 1, memory, disk: 0, ioSlots: 0 },
          retry: { ...aJobSpec().retry, memory: { factor, max } },
        });
        const [now, next] = [memoryAfter(job, shortages), memoryAfter(job, shortages + 1)];
        expect(memoryAfter(job, 0)).toBe(memory);
        expect(Number.isSafeInteger(next)).toBe(true);
        expect(next).toBeGreaterThanOrEqual(now);
        expect(next).toBeLessThanOrEqual(max);
        if (now < max) expect(next).toBeGreaterThan(now);
        const exact = memory * factor ** shortages;
        if (shortages > 0 && exact * 1.001 < max) expect(Math.abs(now - exact)).toBeLessThanOrEqual(1 + exact * 1e-9);
      }),
    );
  });
});
