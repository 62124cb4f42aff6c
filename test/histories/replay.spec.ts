import { describe, expect, it } from '@jest/globals';
import { readHistory, readState, recordedNames, stateOf, writeNew } from './files.js';
import { recordAll } from './histories.js';

/* Stored events are for ever: what was recorded once must lead to the same state under every later version. */

describe('recorded histories', () => {
  it('are all there: none is ever taken away', () => {
    expect(recordedNames().length).toBeGreaterThanOrEqual(7);
    expect(recordedNames()).toEqual(expect.arrayContaining(Object.keys(recordAll())));
  });

  it.each(recordedNames())('%s leads to the state that it led to when it was recorded', (name) => {
    // A later version may know more of it.
    expect(stateOf(readHistory(name))).toMatchObject(readState(name) as object);
  });

  it.each(recordedNames())('%s is a stream as stored: one stream, revisions from 0, positions that rise', (name) => {
    const lines = readHistory(name);
    expect(new Set(lines.map(({ stream }) => stream)).size).toBe(1);
    expect(lines.map(({ revision }) => revision)).toEqual(lines.map((_, index) => String(index)));
    expect(lines.every(({ position }, index) => index === 0 || Number(position) > Number(lines[index - 1]!.position))).toBe(true);
    expect(new Set(lines.map(({ id }) => id)).size).toBe(lines.length);
  });

  it.each(Object.entries(recordAll()))('%s would be recorded today as it was then', (name, lines) => {
    // Where behaviour changes on purpose, the old file stays without its commands, and a new one is recorded beside it.
    expect(JSON.parse(JSON.stringify(lines))).toEqual(readHistory(name));
  });

  it('are never written again', () => {
    const before = recordedNames().map((name) => JSON.stringify(readHistory(name)));
    for (const name of recordedNames()) expect(writeNew(name, [])).toBe(false);
    expect(recordedNames().map((name) => JSON.stringify(readHistory(name)))).toEqual(before);
  });
});
