import { readFile, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { fileTrouble, yamlTrouble } from '../input-file.js';
import { setPath } from './set-path.js';

/** An input that is a file here; it is stored before the job is submitted. */
export interface LocalInput {
  /** Index in the job's `inputs`. */
  readonly index: number;
  readonly file: string;
}

export interface JobFile {
  /** As people know it: the path they gave, and which of its jobs where it has several. */
  readonly name: string;
  readonly job: Record<string, unknown>;
  readonly localInputs: readonly LocalInput[];
}

/**
 * What a job of a file came to: the job, or every mistake that can be seen from here, each naming the file; with the job all
 * the same when it could be read.
 */
export type ReadJobFile = JobFile | { readonly mistakes: readonly string[]; readonly file?: JobFile };

/**
 * Reads YAML or JSON (which YAML includes): one job, several documents with one each, or a list of them under `jobs`. Applies the
 * `--set` assignments to each, and looks for the inputs they name.
 */
export const readJobFile = async (
  name: string,
  assignments: readonly string[],
  cwd: string,
): Promise<readonly ReadJobFile[]> => {
  const path = resolve(cwd, name);
  const text = await readFile(path, 'utf8').catch((error: unknown) => error as NodeJS.ErrnoException);
  if (typeof text !== 'string') return [{ mistakes: [`${name}: ${fileTrouble(text)}`] }];
  const documents = [...parseAllDocuments(text, { prettyErrors: true })];
  const errors = documents.flatMap((document) => document.errors);
  if (errors.length > 0) return [{ mistakes: errors.map((error) => `${name}: ${yamlTrouble(error)}`) }];
  const values = documents.map((document) => document.toJS() as unknown);
  const jobs = jobsIn(values.length > 1 ? values.filter((value) => value !== null) : values);
  if (typeof jobs === 'string') return [{ mistakes: [`${name}: ${jobs}`] }];
  return Promise.all(
    jobs.map((job, index) =>
      readJob(job, jobs.length > 1 ? labelOf(name, job, index) : name, assignments, dirname(path)),
    ),
  );
};

/** The jobs of a file, or what keeps it from having any. */
const jobsIn = (documents: readonly unknown[]): readonly unknown[] | string => {
  const [only] = documents;
  if (documents.length !== 1 || !isObject(only) || !('jobs' in only)) return documents.length > 0 ? documents : [null];
  const { jobs, ...others } = only;
  const [other] = Object.keys(others);
  if (other !== undefined) return `has ${other} beside jobs; each job of the list says all of its own`;
  return Array.isArray(jobs) && jobs.length > 0 ? (jobs as unknown[]) : 'jobs must be a list of at least one job';
};

const labelOf = (name: string, job: unknown, index: number): string => {
  const own = isObject(job) && typeof job.name === 'string' ? ` (${job.name})` : '';
  return `${name}: job ${String(index + 1)}${own}`;
};

const readJob = async (
  job: unknown,
  name: string,
  assignments: readonly string[],
  folder: string,
): Promise<ReadJobFile> => {
  if (!isObject(job)) return { mistakes: [`${name}: a job file holds names with values, such as name: primes`] };
  const mistakes = assignments.flatMap((assignment) => mistakeOf(() => setPath(job, assignment), name));
  const localInputs = localInputsOf(job, folder);
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

/** The job by itself: without what it takes from others of its file, and as if those had ended. */
export const withoutReferences = (job: Record<string, unknown>): Record<string, unknown> => {
  const keep = (name: 'dependsOn' | 'inputs', field: string, begins: string): object => {
    const list = job[name];
    const isOther = (one: unknown): boolean => {
      const text = isObject(one) ? one[field] : undefined;
      return typeof text === 'string' && text.startsWith(begins);
    };
    return Array.isArray(list) ? { [name]: (list as unknown[]).filter((one) => !isOther(one)) } : {};
  };
  return { ...job, ...keep('dependsOn', 'job', '#'), ...keep('inputs', 'source', 'job:#') };
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
