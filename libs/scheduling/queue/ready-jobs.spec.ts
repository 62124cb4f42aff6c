import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { second } from '#testing';
import { ReadyJobs } from './ready-jobs.js';
import type { Ready } from './ready-jobs.js';
import { isBefore } from './turn.js';

const ready = (jobId: string, project: string, priority = 50, submitted = 0): Ready => ({
  jobId,
  project,
  priority,
  submittedAt: second(submitted),
  trigger: 'x',
});

const SHARES: Readonly<Record<string, number>> = { a: 0.5, b: 0.25, c: 0.25 };
const shareOf = (project: string): number => SHARES[project] ?? 0;

const drain = (jobs: ReadyJobs): string[] => {
  const order: string[] = [];
  for (let next = jobs.pop(shareOf); next; next = jobs.pop(shareOf)) order.push(next.jobId);
  return order;
};

describe('ReadyJobs', () => {
  it('A-20 B-23 B-24 gives priority first, then the project with the smaller share, then age', () => {
    const jobs = new ReadyJobs();
    jobs.put(ready('a-old', 'a', 50, 0));
    jobs.put(ready('b-new', 'b', 50, 9));
    jobs.put(ready('c-mid', 'c', 50, 5));
    jobs.put(ready('a-urgent', 'a', 90, 9));
    jobs.put(ready('b-low', 'b', 10, 0));
    expect(drain(jobs)).toEqual(['a-urgent', 'c-mid', 'b-new', 'a-old', 'b-low']);
    expect(jobs.size).toBe(0);
  });

  it('takes the new turn of a job for its old one', () => {
    const jobs = new ReadyJobs();
    jobs.put(ready('x', 'a', 90));
    jobs.put(ready('y', 'a', 50));
    jobs.put(ready('x', 'a', 10));
    expect([jobs.size, drain(jobs)]).toEqual([2, ['y', 'x']]);
  });

  it('answers as a sorted list would', () => {
    const step = fc.record({
      job: fc.nat(9),
      project: fc.constantFrom('a', 'b', 'c'),
      priority: fc.nat(2),
      does: fc.constantFrom('put', 'put', 'remove', 'pop'),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const jobs = new ReadyJobs();
        const model = new Map<string, Ready>();
        const precedes = (left: Ready, right: Ready): boolean => {
          const byShare = shareOf(left.project) - shareOf(right.project);
          return left.priority === right.priority && byShare !== 0 ? byShare < 0 : isBefore(left, right);
        };
        for (const { job, project, priority, does } of steps) {
          const jobId = `${project}${String(job)}`;
          if (does === 'put') {
            const one = ready(jobId, project, priority, job);
            jobs.put(one);
            model.set(jobId, one);
          } else if (does === 'remove') {
            jobs.remove(jobId);
            model.delete(jobId);
          } else {
            const [first] = [...model.values()].sort((left, right) => (precedes(left, right) ? -1 : 1));
            expect(jobs.pop(shareOf)).toBe(first);
            model.delete(first?.jobId ?? '');
          }
          expect(jobs.size).toBe(model.size);
        }
      }),
    );
  });
});
