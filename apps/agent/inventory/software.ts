import type { Inventory } from '#contracts';
import { runProbe } from './run-probe.js';

type Software = Inventory['applications'][number];

/** How to find a program and its version: what `pattern`'s first group matches in the command's output. */
export interface Probe {
  readonly name: string;
  readonly command: readonly string[];
  readonly pattern?: string;
}

const ANY_VERSION = '(\\d+\\.\\d+(?:\\.\\d+)*)';

const version = (name: string, ...args: string[]): Probe => ({
  name,
  command: [name, ...(args.length > 0 ? args : ['--version'])],
});

/** What is looked for where the configuration says nothing else. */
export const DEFAULT_PROBES: readonly Probe[] = [
  { name: 'node', command: ['node', '--version'], pattern: 'v(\\S+)' },
  version('python3'),
  { ...version('python3'), name: 'python' },
  version('bash'),
  version('git'),
  version('gcc', '-dumpfullversion'),
  version('java', '-version'),
  version('R'),
  version('docker'),
  version('apptainer'),
];

/** The version in a probe's output; an odd pattern or no match is no version. */
export const versionIn = (output: string, pattern = ANY_VERSION): string | undefined =>
  new RegExp(pattern, 'm').exec(output)?.[1];

/** Runs the probes side by side; what does not answer with a version is not installed. */
export const probeSoftware = async (probes: readonly Probe[], timeout: number): Promise<Software[]> => {
  const found = await Promise.all(
    probes.map(async ({ name, command, pattern }) => {
      const output = await runProbe(command, timeout);
      const found = output === undefined ? undefined : versionIn(output, pattern);
      return found === undefined ? [] : [{ name, version: found }];
    }),
  );
  return found.flat();
};
