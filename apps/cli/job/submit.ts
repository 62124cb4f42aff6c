import { storeFile } from '../client/artifacts.js';
import { ProblemError, ServerUnreachable } from '#contracts';
import { EXIT, Exit, usage } from '../exit-codes.js';
import { writeOne } from '../output/format.js';
import { readJobFile } from './job-file.js';
import { waitForAll } from './wait.js';
import type { EscalonClient, SubmitAnswer } from '#contracts';
import type { Session } from '../client/session.js';
import type { JobFile } from './job-file.js';

export interface SubmitFlags {
  readonly wait?: boolean;
  readonly follow?: boolean;
  /** Seconds. */
  readonly timeout?: number;
  readonly idempotencyKey?: string;
  readonly set: readonly string[];
}

/** Submits every file, or none when one has a mistake that can be seen from here. Prints the ids. */
export const submit = async (names: readonly string[], session: Session<SubmitFlags>): Promise<void> => {
  const { client, io, flags, output } = session;
  const files = await readAll(names, flags.set, io.cwd);
  const ids: string[] = [];
  for (const [index, file] of files.entries()) {
    const key = keyFor(flags.idempotencyKey, index, files.length) ?? io.ids.next();
    const answer = await submitFile(client, file, key);
    for (const warning of answer.warnings) io.err.write(`${file.name}: warning: ${warning}\n`);
    writeOne(io.out, output, answer, () => `${answer.id}\n`);
    ids.push(answer.id);
  }
  if (flags.wait || flags.follow) await waitForAll(ids, session);
};

const readAll = async (names: readonly string[], assignments: readonly string[], cwd: string): Promise<JobFile[]> => {
  const read = await Promise.all(names.map((name) => readJobFile(name, assignments, cwd)));
  const mistakes = read.flatMap((file) => ('mistakes' in file ? file.mistakes : []));
  if (mistakes.length > 0) throw usage(mistakes.join('\n'));
  return read.filter((file) => 'job' in file);
};

/** One key may not stand for two jobs, so each file of several gets its own. */
const keyFor = (key: string | undefined, index: number, files: number): string | undefined =>
  key === undefined || files === 1 ? key : `${key}-${index + 1}`;

/** Stores the inputs that are files here, then submits. */
export const submitFile = async (client: EscalonClient, file: JobFile, key: string): Promise<SubmitAnswer> => {
  const inputs = Array.isArray(file.job.inputs) ? [...(file.job.inputs as unknown[])] : undefined;
  for (const { index, file: path } of file.localInputs) {
    const { sha256, size } = await storeFile(client, path);
    if (inputs) inputs[index] = { ...(inputs[index] as object), source: `sha256:${sha256}`, size };
  }
  const job = inputs ? { ...file.job, inputs } : file.job;
  try {
    return await postTwice(client, job, key);
  } catch (error) {
    throw asUsage(error, file.name);
  }
};

/** A lost answer is asked for again: under the same key the job is stored once. */
const postTwice = async (client: EscalonClient, job: unknown, key: string): Promise<SubmitAnswer> => {
  const post = async (): Promise<SubmitAnswer> => (await client.submitJob(job, { idempotencyKey: key })).body;
  try {
    return await post();
  } catch (error) {
    if (!(error instanceof ServerUnreachable)) throw error;
    return post();
  }
};

/** Mistakes that the server found in the file are told like those found here, all of them. */
const asUsage = (error: unknown, name: string): unknown => {
  if (!(error instanceof ProblemError) || error.code !== 'VALIDATION_FAILED') return error;
  const mistakes = error.errors.map(({ pointer, message }) => `${name}: ${pointer || '/'}: ${message}`);
  return new Exit(EXIT.usage, mistakes.length > 0 ? mistakes.join('\n') : `${name}: ${error.message}`);
};
