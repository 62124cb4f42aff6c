import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { effectivePriority, isOlder } from '../broker/aging.js';
import type { Place } from '../broker/aging.js';
import type { Answer } from './waiting-jobs.js';
import { WaitingJobs } from './waiting-jobs.js';

const turn = (id: string, priority = 50, createdAt = 0): Place => ({ id, priority, createdAt });

/** Time stands still unless a test says otherwise. */
const waitingJobs = (aging = 0, now = () => 0): WaitingJobs => new WaitingJobs({ now }, aging);

const waitsFor = (...wakesOn: string[]): Answer => ({ wakesOn, reasons: new Set(), wakesAt: undefined });

const heads = (jobs: WaitingJobs, type: string): string[] => jobs.wokenBy(type).map(({ jobId }) => jobId);

describe('WaitingJobs', () => {
  it('A-20 B-23 B-24 wakes the first of each shape that the event could help: by priority, then by submission', () => {
    const jobs = waitingJobs();
    jobs.add(turn('late', 50, 9), 'cpu', waitsFor('CapacityReleased'));
    jobs.add(turn('early', 50, 1), 'cpu', waitsFor('CapacityReleased'));
    jobs.add(turn('urgent', 90, 20), 'gpu', waitsFor('CapacityReleased', 'NodeEnrolled'));
    jobs.add(turn('other', 10, 0), 'arm', waitsFor('NodeEnrolled'));
    expect(heads(jobs, 'CapacityReleased')).toEqual(['early', 'urgent']);
    expect(heads(jobs, 'NodeEnrolled')).toEqual(['urgent', 'other']);
    expect(heads(jobs, 'ProjectConfigured')).toEqual([]);
    expect(jobs.heads().map(({ jobId }) => jobId)).toEqual(['early', 'urgent', 'other']);
  });

  it('what a class waits for is the newest answer of any of it', () => {
    const jobs = waitingJobs();
    jobs.add(turn('a'), 'cpu', waitsFor('CapacityReleased'));
    jobs.add(turn('b'), 'cpu', waitsFor('NodeUncordoned'));
    expect([heads(jobs, 'CapacityReleased'), heads(jobs, 'NodeUncordoned')]).toEqual([[], ['a']]);
  });

  it('a job waits in one class, with its last priority', () => {
    const jobs = waitingJobs();
    jobs.add(turn('a', 50), 'cpu', waitsFor('x'));
    jobs.add(turn('b', 60), 'cpu', waitsFor('x'));
    jobs.add(turn('a', 70), 'cpu', waitsFor('x'));
    expect(heads(jobs, 'x')).toEqual(['a']);
    jobs.add(turn('a', 70), 'gpu', waitsFor('x'));
    expect([jobs.shapeOf('a'), jobs.size, jobs.head('cpu')]).toEqual(['gpu', 2, 'b']);
  });

  it('B-64 who waits longest comes to the front of its class, whatever the priority of those that come', () => {
    let now = 0;
    const jobs = waitingJobs(1_000, () => now);
    jobs.add(turn('low', 40, 0), 'cpu', waitsFor('x'));
    jobs.add(turn('high', 50, 0), 'cpu', waitsFor('x'));
    const heads: (string | undefined)[] = [];
    for (now = 0; now < 13_000; now += 1_000) {
      jobs.remove('high');
      jobs.add(turn('high', 50, now), 'cpu', waitsFor('x'));
      heads.push(jobs.head('cpu'));
    }
    expect([heads.indexOf('low'), heads.lastIndexOf('high')]).toEqual([10, 9]);
  });

  it('B-64 answers as a plain list would', () => {
    const AGING = 10;
    const steps = fc.array(
      fc.record({
        job: fc.integer({ min: 0, max: 5 }),
        priority: fc.nat(3),
        shape: fc.nat(1),
        leaves: fc.boolean(),
        passes: fc.nat(8),
      }),
      { maxLength: 300 },
    );
    fc.assert(
      fc.property(steps, (all) => {
        let now = 0;
        const jobs = waitingJobs(AGING, () => now);
        const model = new Map<string, { turn: Place; shape: string }>();
        const order = (left: Place, right: Place): number => {
          const points = effectivePriority(right, AGING, now) - effectivePriority(left, AGING, now);
          return points === 0 ? (isOlder(left, right) ? -1 : 1) : points;
        };
        for (const { job, priority, shape, leaves, passes } of all) {
          now += passes;
          const own = turn(`j${String(job)}`, priority, model.get(`j${String(job)}`)?.turn.createdAt ?? now - job);
          if (leaves) {
            jobs.remove(own.id);
            model.delete(own.id);
          } else {
            jobs.add(own, String(shape), waitsFor('x'));
            model.set(own.id, { turn: own, shape: String(shape) });
          }
          for (const name of ['0', '1']) {
            const members = [...model.values()].filter((one) => one.shape === name).map((one) => one.turn);
            expect(jobs.head(name)).toBe(members.sort(order)[0]?.id);
          }
          expect(jobs.size).toBe(model.size);
        }
      }),
    );
  });
});
