import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Inventory } from '#contracts';
import { runProbe } from './run-probe.js';

type Packages = Inventory['packages'];

const COMMAND = ['python3', '-m', 'pip', 'list', '--format=json'];

/** Parses `pip list --format=json`: one line, with notices around it. */
export const parsePip = (output: string): Packages => {
  try {
    const list: unknown = JSON.parse(output.split('\n').find((line) => line.startsWith('[')) ?? '[]');
    if (!Array.isArray(list)) return [];
    return (list as Partial<Packages[number]>[]).flatMap(({ name, version }) =>
      name && version ? [{ name: name.toLowerCase(), version }] : [],
    );
  } catch {
    return [];
  }
};

/**
 * Python's packages. Listing them takes seconds, so the answer is kept in the data folder; with `remembered` the kept one is
 * given at once, so that a restarted agent does not seem to have lost them meanwhile.
 */
export const pythonPackages = async (data: string, timeout: number, remembered: boolean): Promise<Packages> => {
  const kept = join(data, 'python-packages.json');
  if (remembered) return parsePip(await readFile(kept, 'utf8').catch(() => ''));
  const packages = parsePip((await runProbe(COMMAND, timeout)) ?? '');
  await writeFile(kept, JSON.stringify(packages)).catch(() => undefined);
  return packages;
};
