import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';

/*
 * Every numbered statement of what the scheduler must do is named by a test, in the title that it runs under. This finds the
 * rows that nobody names; whether a test shows what its title says is for its reader.
 */

const range = (kind: 'A' | 'B' | 'E' | 'G' | 'N' | 'P' | 'R' | 'S' | 'W', from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_, index) => `${kind}-${String(from + index).padStart(2, '0')}`);

const ROWS = [
  // Submission and placement, the path of a job, compatibility, protections.
  ...[...range('A', 1, 18), ...range('A', 20, 51), ...range('A', 60, 72), ...range('A', 80, 92)],
  // The governor and its queue: responsibilities, admission, pause, limits and what goes beyond them.
  ...[...range('G', 1, 37), ...range('G', 40, 42), ...range('G', 50, 59)],
  // Of the orchestrator: what bounds a job in time, what ends it, what runs it again, how it is submitted and seen.
  ...[...range('S', 1, 11), ...range('N', 1, 4), ...range('P', 1, 4)],
  ...[...range('R', 1, 5), ...range('E', 1, 8)],
  // The broker of evaluations and the workers.
  ...[...range('B', 1, 17), ...range('B', 20, 44), ...range('B', 50, 58), ...range('B', 60, 64), ...range('W', 1, 6)],
];

/** The rows in the titles of tests, be they plain or in the tables of `it.each`. */
const namedRows = (): Set<string> => {
  const named = new Set<string>();
  for (const file of globSync('{apps,libs,test}/**/*.spec.ts')) {
    for (const [literal] of readFileSync(file, 'utf8').matchAll(/['`](?:[A-Z]-\d{2,3} )+[^'`]*/g)) {
      for (const [row] of literal.matchAll(/\b[A-Z]-\d{2,3}\b/g)) named.add(row);
    }
  }
  return named;
};

describe('requirements', () => {
  it('are each named by a test', () => {
    const named = namedRows();
    expect(ROWS.filter((row) => !named.has(row))).toEqual([]);
  });
});
