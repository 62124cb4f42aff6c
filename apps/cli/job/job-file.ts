import { readFile, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { parseDocument } from 'yaml';
import { fileTrouble, yamlTrouble } from '../input-file.js';
import { setPath } from './set-path.js';

/** An input that is a file here; it is stored before the job is submitted. */
export interface LocalInput {
  /** Index in the job's `inputs`. */
  readonly index: number;
  readonly file: string;
}

export interface JobFile {
  /** As people know it: the path they gave. */
  readonly name: string;
  readonly job: Record<string, unknown>;
  readonly localInputs: readonly LocalInput[];
}

/**
 * What a job file came to: the job, or every mistake that can be seen from here, each naming the file; with the job all the
 * same when it could be read.
 */
export type ReadJobFile = JobFile | { readonly mistakes: readonly string[]; readonly file?: JobFile };

/** Reads YAML or JSON (which YAML includes), applies the `--set` assignments, and looks for the inputs it names. */
export const readJobFile = async (name: string, assignments: readonly string[], cwd: string): Promise<ReadJobFile> => {
  const path = resolve(cwd, name);
  const text = await readFile(path, 'utf8').catch((error: unknown) => error as NodeJS.ErrnoException);
  if (typeof text !== 'string') return { mistakes: [`${name}: ${fileTrouble(text)}`] };
  const document = parseDocument(text, { prettyErrors: true });
  if (document.errors.length > 0) return { mistakes: document.errors.map((error) => `${name}: ${yamlTrouble(error)}`) };
  const job = document.toJS() as unknown;
  if (!isObject(job)) return { mistakes: [`${name}: a job file holds names with values, such as name: primes`] };
  const mistakes = assignments.flatMap((assignment) => mistakeOf(() => setPath(job, assignment), name));
  const localInputs = localInputsOf(job, dirname(path));
  for (const { file, index } of localInputs)
    mistakes.push(...(await missing(file, `${name}: inputs[${index}].source`)));
  const file = { name, job, localInputs };
  return mistakes.length > 0 ? { mistakes, file } : file;
};

/** The job with its inputs that are files here named by their digests. */
export const withStoredInputs = async (
  { job, localInputs }: JobFile,
  storedAs: (file: string) => Promise<{ readonly sha256: string; readonly size?: number }>,
): Promise<Record<string, unknown>> => {
  if (!Array.isArray(job.inputs)) return job;
  const inputs = [...(job.inputs as unknown[])];
  for (const { index, file } of localInputs) {
    const { sha256, ...size } = await storedAs(file);
    inputs[index] = { ...(inputs[index] as object), source: `sha256:${sha256}`, ...size };
  }
  return { ...job, inputs };
};

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const mistakeOf = (attempt: () => void, name: string): string[] => {
  try {
    attempt();
    return [];
  } catch (error) {
    return [`${name}: ${error instanceof Error ? error.message : String(error)}`];
  }
};

/** Sources that a node fetches itself: by digest, from the web, or from another job. */
const REMOTE = /^(?:sha256:|https?:\/\/|job:)/;

/** The shape of `inputs` is the server's to judge: what is no text here goes through as it is. */
const localInputsOf = (job: Record<string, unknown>, folder: string): LocalInput[] => {
  const inputs: unknown[] = Array.isArray(job.inputs) ? job.inputs : [];
  return inputs.flatMap((input, index) => {
    const source = isObject(input) ? input.source : undefined;
    return typeof source === 'string' && !REMOTE.test(source) ? [{ index, file: resolve(folder, source) }] : [];
  });
};

const missing = async (file: string, where: string): Promise<string[]> => {
  try {
    return (await stat(file)).isFile() ? [] : [`${where}: ${file} is not a file`];
  } catch (error) {
    return [`${where}: ${file}: ${fileTrouble(error)}`];
  }
};
