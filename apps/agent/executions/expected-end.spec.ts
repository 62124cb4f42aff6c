import { describe, expect, it } from '@jest/globals';
import type { DesiredState } from '#contracts';
import { newEntry } from '../journal/entry.js';
import type { JournalEntry } from '../journal/entry.js';
import { someAssignment } from '../testing/assignments.js';
import { expectedEnd } from './expected-end.js';

const entry = (duration: number | undefined, more: Partial<JournalEntry> = {}): JournalEntry => ({
  ...newEntry(someAssignment('job1.e1', ['true'], duration === undefined ? {} : { duration })),
  ...more,
});

describe('G-56 the expected end of an execution', () => {
  it.each<[string, JournalEntry, number | undefined, DesiredState?, number?]>([
    ['what has not begun to run is counted from now', entry(10), 15_000],
    ['what runs, from its start', entry(10, { phase: 'running', startedAt: 2000 }), 12_000],
    ['without the time it stood paused', entry(10, { phase: 'running', startedAt: 2000, pausedFor: 500 }), 12_500],
    ['between two batches too', entry(10, { phase: 'between', startedAt: 2000 }), 12_000],
    ['nobody knows of what is paused', entry(10, { phase: 'running', startedAt: 2000, pausedSince: 3000 }), undefined],
    ['nobody knows without an estimate', entry(undefined, { phase: 'running', startedAt: 2000 }), undefined],
    ['what was told to stop has the grace to', entry(10, { phase: 'running', startedAt: 2000 }), 7000, 'stop', 7000],
    ['paused or not', entry(10, { phase: 'running', startedAt: 2000, pausedSince: 3000 }), 7000, 'pause', 7000],
    ['nobody knows of what is to be paused before it begins', entry(10), undefined, 'pause'],
    ['what has ended is over at any moment', entry(undefined, { phase: 'ended', startedAt: 2000 }), 5000],
    ['whatever was wanted', entry(10, { phase: 'ended', startedAt: 2000 }), 5000, 'stop', 7000],
  ])('%s', (_, of, end, desired = 'run', stopsBy) => {
    expect(expectedEnd(of, desired, stopsBy, 5000)).toBe(end);
  });
});
