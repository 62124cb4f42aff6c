import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { second } from '#testing';
import { isBefore } from './turn.js';
import type { Turn } from './turn.js';
import type { Answer } from './waiting-jobs.js';
import { WaitingJobs } from './waiting-jobs.js';

const turn = (jobId: string, priority = 50, submitted = 0): Turn => ({
  jobId,
  project: 'demo',
  priority,
  submittedAt: second(submitted),
});

const waitsFor = (...wakesOn: string[]): Answer => ({ wakesOn, reasons: new Set(), wakesAt: undefined });

const heads = (jobs: WaitingJobs, type: string): string[] => jobs.wokenBy(type).map(({ turn: { jobId } }) => jobId);

describe('WaitingJobs', () => {
  it('A-20 B-23 B-24 wakes the first of each shape that the event could help: by priority, then by submission', () => {
    const jobs = new WaitingJobs();
    jobs.add(turn('late', 50, 9), 'cpu', waitsFor('CapacityReleased'));
    jobs.add(turn('early', 50, 1), 'cpu', waitsFor('CapacityReleased'));
    jobs.add(turn('urgent', 90, 20), 'gpu', waitsFor('CapacityReleased', 'NodeEnrolled'));
    jobs.add(turn('other', 10, 0), 'arm', waitsFor('NodeEnrolled'));
    expect(heads(jobs, 'CapacityReleased')).toEqual(['early', 'urgent']);
    expect(heads(jobs, 'NodeEnrolled')).toEqual(['urgent', 'other']);
    expect(heads(jobs, 'ProjectConfigured')).toEqual([]);
    expect(jobs.heads().map(({ turn: { jobId } }) => jobId)).toEqual(['early', 'urgent', 'other']);
  });

  it('what a class waits for is the newest answer of any of it', () => {
    const jobs = new WaitingJobs();
    jobs.add(turn('a'), 'cpu', waitsFor('CapacityReleased'));
    jobs.add(turn('b'), 'cpu', waitsFor('NodeUncordoned'));
    expect([heads(jobs, 'CapacityReleased'), heads(jobs, 'NodeUncordoned')]).toEqual([[], ['a']]);
  });

  it('a job waits in one class, with its last priority', () => {
    const jobs = new WaitingJobs();
    jobs.add(turn('a', 50), 'cpu', waitsFor('x'));
    jobs.add(turn('b', 60), 'cpu', waitsFor('x'));
    jobs.add(turn('a', 70), 'cpu', waitsFor('x'));
    expect(heads(jobs, 'x')).toEqual(['a']);
    jobs.add(turn('a', 70), 'gpu', waitsFor('x'));
    expect([jobs.shapeOf('a'), jobs.size, jobs.head('cpu')?.jobId]).toEqual(['gpu', 2, 'b']);
  });

  it('answers as a plain list would, and keeps no more than a bounded number of turns', () => {
    const steps = fc.array(
      fc.record({ job: fc.integer({ min: 0, max: 5 }), priority: fc.nat(3), shape: fc.nat(1), leaves: fc.boolean() }),
      { maxLength: 300 },
    );
    fc.assert(
      fc.property(steps, (all) => {
        const jobs = new WaitingJobs();
        const model = new Map<string, { turn: Turn; shape: string }>();
        for (const { job, priority, shape, leaves } of all) {
          const own = turn(`j${String(job)}`, priority, job);
          if (leaves) {
            jobs.remove(own.jobId);
            model.delete(own.jobId);
          } else {
            jobs.add(own, String(shape), waitsFor('x'));
            model.set(own.jobId, { turn: own, shape: String(shape) });
          }
          for (const name of ['0', '1']) {
            const members = [...model.values()].filter((one) => one.shape === name).map((one) => one.turn);
            members.sort((left, right) => (isBefore(left, right) ? -1 : 1));
            expect(jobs.head(name)?.jobId).toBe(members[0]?.jobId);
          }
          expect(jobs.size).toBe(model.size);
        }
      }),
    );
  });
});
