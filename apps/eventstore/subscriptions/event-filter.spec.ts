import { describe, expect, it } from '@jest/globals';
import { CheckpointCounter, buildFilter } from './event-filter.js';

const event = { position: 1, stream: 'job-17', type: 'JobSubmitted' };

describe('a filter', () => {
  it.each([
    [{ on: 'stream', regex: '', prefixes: ['node-', 'job-'] }, true],
    [{ on: 'stream', regex: '', prefixes: ['ob-'] }, false],
    [{ on: 'stream', regex: '', prefixes: [] }, false],
    [{ on: 'stream', regex: '-\\d+$', prefixes: ['nothing'] }, true],
    [{ on: 'type', regex: '', prefixes: ['Job'] }, true],
    [{ on: 'type', regex: '^job', prefixes: [] }, false],
    [{ on: 'type', regex: '(?i)^job', prefixes: [] }, true],
    [{ on: 'type', regex: '^[^$].*', prefixes: [] }, true],
  ] as const)('%j', (spec, matches) => expect(buildFilter(spec)(event)).toBe(matches));

  it('refuses a regex that cannot be read', () => {
    expect(() => buildFilter({ on: 'type', regex: '(', prefixes: [] })).toThrow(SyntaxError);
  });
});

describe('checkpoints', () => {
  it.each([
    [1, undefined, 32],
    [3, undefined, 96],
    [2, 10, 20],
  ])('are due every %d × (%s, else 32) events', (multiplier, window, interval) => {
    const counter = new CheckpointCounter(multiplier, window);
    const due = Array.from({ length: 3 * interval }, (_, index) => (counter.count() ? index + 1 : 0)).filter(Boolean);
    expect(due).toEqual([interval, 2 * interval, 3 * interval]);
  });
});
