import { access, constants, readFile, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { PROFILE_NAMES, PROFILES } from '#placement';
import { readJobs, readNodes } from '#placement/simulation';
import { usage } from '../exit-codes.js';
import { fileTrouble } from '../input-file.js';
import type { Read, SimulationOptions } from '#placement/simulation';
import type { OutputFormat } from '../output/format.js';

export interface SimulateFlags {
  readonly nodes: string;
  readonly jobs: string;
  readonly profile?: string;
  readonly weights?: string;
  readonly seed: string;
  readonly arrivalsOnly?: true;
  readonly inflate?: string;
  readonly json?: string;
  readonly output: OutputFormat;
}

type Weights = NonNullable<SimulationOptions['weights']>;
type Mistakes = string[];

/** Reads the flags and both files; throws one answer that names every mistake. */
export const simulationOptions = async (flags: SimulateFlags, cwd: string): Promise<SimulationOptions> => {
  const mistakes: Mistakes = [];
  const nodes = await itemsOf(flags.nodes, cwd, readNodes, mistakes);
  const jobs = await itemsOf(flags.jobs, cwd, readJobs, mistakes);
  const weights = flags.weights === undefined ? undefined : weightsOf(flags.weights, mistakes);
  const inflate = flags.inflate === undefined ? undefined : inflateOf(flags.inflate, mistakes);
  if (flags.profile !== undefined) checkProfile(flags.profile, flags.weights, mistakes);
  const seed = seedOf(flags.seed, mistakes);
  if (inflate !== undefined && mistakes.length === 0) {
    if (nodes.every(({ gpus }) => gpus === 0)) mistakes.push(`--inflate goes by GPUs, and ${flags.nodes} has none`);
    if (jobs.every(({ gpus }) => gpus === 0)) mistakes.push(`--inflate goes by GPUs, and ${flags.jobs} asks for none`);
  }
  if (flags.json !== undefined) mistakes.push(...(await unwritable(flags.json, cwd)));
  if (mistakes.length > 0) throw usage(mistakes.map((mistake) => `error: ${mistake}`).join('\n'));
  return {
    nodes,
    jobs,
    seed,
    arrivalsOnly: flags.arrivalsOnly === true,
    ...(flags.profile !== undefined && { profile: flags.profile }),
    ...(weights && { weights }),
    ...(inflate !== undefined && { inflate }),
  };
};

const itemsOf = async <Item>(
  file: string,
  cwd: string,
  read: (text: string) => Read<Item>,
  mistakes: Mistakes,
): Promise<readonly Item[]> => {
  const text = await readFile(resolve(cwd, file), 'utf8').catch((error: unknown) => {
    mistakes.push(`${file} cannot be read: ${fileTrouble(error)}`);
  });
  if (text === undefined) return [];
  const quoted = linesWithQuotes(text);
  if (quoted.length > 0) {
    mistakes.push(...quoted.map((line) => `${file}:${line}: quotes are not understood; write the cells without them`));
    return [];
  }
  const result = read(text);
  if (result.kind === 'mistakes') {
    mistakes.push(...result.mistakes.map(({ line, message }) => `${file}:${line}: ${message}`));
    return [];
  }
  return result.items;
};

/** Line numbers, from 1. Traces have plain cells, and a quote would become part of a name. */
const linesWithQuotes = (text: string): number[] =>
  text.split('\n').flatMap((line, index) => (line.includes('"') ? [index + 1] : []));

/** Looked at before a run that may take minutes; nothing is made yet. */
const unwritable = async (name: string, cwd: string): Promise<string[]> => {
  const file = resolve(cwd, name);
  try {
    const there = await stat(file).catch(() => undefined);
    if (there?.isDirectory()) return [`--json ${name} cannot be written: it is a folder, not a file`];
    await access(there ? file : dirname(file), constants.W_OK);
    return [];
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return [`--json ${name} cannot be written: ${code === 'ENOENT' ? 'there is no such folder' : fileTrouble(error)}`];
  }
};

const checkProfile = (profile: string, weights: string | undefined, mistakes: Mistakes): void => {
  if (!(PROFILE_NAMES as readonly string[]).includes(profile)) {
    mistakes.push(`--profile must be one of ${PROFILE_NAMES.join(', ')}, not ${JSON.stringify(profile)}`);
  }
  if (weights !== undefined) mistakes.push('--profile and --weights exclude each other');
};

const seedOf = (text: string, mistakes: Mistakes): number => {
  if (/^\d{1,10}$/.test(text) && Number(text) < 2 ** 32) return Number(text);
  mistakes.push(`--seed must be a whole number from 0 to 4294967295, not ${JSON.stringify(text)}`);
  return 0;
};

const MOST_INFLATION = 100;

const inflateOf = (text: string, mistakes: Mistakes): number => {
  const ratio = Number(text);
  if (text.trim() !== '' && ratio > 0 && ratio <= MOST_INFLATION) return ratio;
  mistakes.push(`--inflate must be a number above 0, at most ${MOST_INFLATION}, not ${JSON.stringify(text)}`);
  return 1;
};

/** All five, each once, each 0 to 100, not all of them 0: as `whatif` takes them. */
const weightsOf = (text: string, mistakes: Mistakes): Weights => {
  const factors = Object.keys(PROFILES.balanced.weights);
  const pairs = text.split(',').map((part): [string, string] => {
    const [name = '', amount = ''] = part.split('=', 2);
    return [name.trim(), amount.trim()];
  });
  const names = pairs.map(([name]) => name);
  pairs.forEach(([name, amount], index) => {
    if (!factors.includes(name)) mistakes.push(`--weights names ${JSON.stringify(name)}, which is no factor`);
    else if (names.indexOf(name) < index) mistakes.push(`--weights names ${name} twice`);
    else if (!/^\d{1,3}(?:\.\d{1,6})?$/.test(amount) || Number(amount) > 100)
      mistakes.push(`--weights gives ${name} ${JSON.stringify(amount)}, which is not 0 to 100`);
  });
  const absent = factors.filter((name) => !names.includes(name));
  if (absent.length > 0) mistakes.push(`--weights must name all five; ${absent.join(', ')} missing`);
  if (pairs.every(([, amount]) => Number(amount) === 0)) mistakes.push('--weights must not all be 0');
  return Object.fromEntries(pairs.map(([name, amount]) => [name, Number(amount)])) as unknown as Weights;
};
