import { describe, expect, it } from '@jest/globals';
import { aDecision, aJobSpec, aSubmission, second } from '#testing';
import type { JobEvent } from '../../domain/events.js';
import { triesBeforeLines } from './tries-before.js';

const GIB = 1024 ** 3;

const submitted = (): JobEvent => {
  const { type: _type, ...data } = aSubmission({
    spec: aJobSpec({ resources: { cpu: 1, memory: 4 * GIB, disk: 0, ioSlots: 0 } }),
  });
  return { type: 'JobSubmitted', data };
};

const decided = (number: number): JobEvent => ({ type: 'PlacementDecided', data: aDecision({ number }) });

const requeued = (partition: number, memory?: number, seenOn?: number): JobEvent => ({
  type: 'JobRequeued',
  data: {
    partition,
    cause: 'resource',
    message: 'the task ran out of memory',
    notBefore: second(9),
    ...(memory === undefined ? {} : { memory }),
    ...(seenOn === undefined ? {} : { seenOn }),
    at: second(1),
  },
});

describe('what tries before a decision made of it', () => {
  const events = [
    submitted(),
    decided(1),
    requeued(0, 6 * GIB),
    requeued(1),
    decided(2),
    requeued(0, 8 * GIB),
    decided(3),
  ];

  it.each([
    [1, []],
    [2, ['Asks for 6 GiB of memory instead of 4 GiB: one try ran out of it.']],
    [3, ['Asks for 8 GiB of memory instead of 4 GiB: 2 tries ran out of it.']],
  ])('R-03 A-90 decision %d', (number, lines) => {
    expect(triesBeforeLines(events, aDecision({ number }))).toEqual(lines);
  });

  it('R-03 is told of the part of the job that it is about', () => {
    expect(triesBeforeLines(events, aDecision({ number: 3, partition: 1 }))).toEqual([]);
  });

  it('R-03 says when a class was seen on several nodes', () => {
    const seen = [submitted(), decided(1), requeued(0), decided(2), requeued(0, undefined, 2), decided(3)];
    expect(triesBeforeLines(seen, aDecision({ number: 2 }))).toEqual([]);
    expect(triesBeforeLines(seen, aDecision({ number: 3 }))).toEqual([
      'Tries failed with resource on 2 nodes: that counts against the job, and no node is avoided or charged for it.',
    ]);
  });
});
