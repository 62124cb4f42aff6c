import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { EXPECTED, LARGE, LONGEST, replayOf, seedsFrom } from './seeds.js';

const PROGRAM = fileURLToPath(new URL('../../dist/test/simulation/main.js', import.meta.url));
const PER_FILE = 25;
const PER_CASE = 25;

/**
 * 500 jobs on 20 nodes under each of 25 seeds. They run as built, in a process of their own, which takes less than half of
 * the time that they would take in the test runner: four to eight seconds of one core each. There are two such files; more
 * seeds are for `npm run simulate:seed`.
 */
export const describeLarge = (first: number): void => {
  describe('the whole control plane with 500 jobs on 20 nodes, in virtual time', () => {
    it.each(seedsFrom(0, PER_FILE / PER_CASE).map((block) => first + block * PER_CASE))(
      'A-17 A-20 A-22 A-46 A-80 A-86 B-63 P-02 holds its invariants from seed %i on',
      async (start) => {
        const lines = await run(start);
        const kinds = Object.keys(JSON.parse(lines.at(-1) ?? '{}') as object);
        const seeds = lines.slice(0, -1);
        expect({ failed: seeds.filter(failed), replay: replayOf('N', LARGE) }).toMatchObject({ failed: [] });
        expect(seeds).toHaveLength(PER_CASE);
        expect(kinds).toEqual(expect.arrayContaining([...EXPECTED]));
      },
      LONGEST,
    );
  });
};

/** A seed's line that counts violations, and the lines below it that name them. */
const failed = (line: string): boolean => !line.includes('"violations":0,');

const run = (seed: number): Promise<string[]> => {
  const options = { seed, count: PER_CASE, ...LARGE };
  const flags = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
  return new Promise((resolve) => {
    // What went wrong is in the lines; its exit code only repeats that.
    execFile(process.execPath, [PROGRAM, ...flags], { maxBuffer: 2 ** 26 }, (_error, stdout, stderr) =>
      resolve(`${stdout}${stderr}`.trim().split('\n')),
    );
  });
};
