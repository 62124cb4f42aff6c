import { storeFile } from '../client/artifacts.js';
import { ProblemError, ServerUnreachable } from '#contracts';
import { EXIT, Exit, usage } from '../exit-codes.js';
import { writeEach } from '../output/format.js';
import { submitBatch } from './batch.js';
import { readJobFile, withoutReferences, withStoredInputs } from './job-file.js';
import { waitForAll } from './wait.js';
import type { EscalonClient, Problem, SubmitAnswer, Written } from '#contracts';
import type { Session } from '../client/session.js';
import type { ExitCode } from '../exit-codes.js';
import type { JobFile, ReadJobFile } from './job-file.js';

export interface SubmitFlags {
  readonly wait?: boolean;
  readonly follow?: boolean;
  /** Seconds. */
  readonly timeout?: number;
  readonly idempotencyKey?: string;
  readonly set: readonly string[];
}

/** Submits every file, each as a whole, or none when one has a mistake that can be seen from here. Prints the ids. */
export const submit = async (names: readonly string[], session: Session<SubmitFlags>): Promise<void> => {
  const { io, flags, output } = session;
  const files = await readAll(names, session);
  const ids: string[] = [];
  const each = writeEach(io.out, output, files.flat().length);
  try {
    for (const [index, file] of files.entries()) {
      const key = keyFor(flags.idempotencyKey, index, files.length) ?? io.ids.next();
      const { answers, refused, code } = await submitJobs(session, file, key);
      for (const [name, answer] of answers) {
        for (const warning of answer.warnings) io.err.write(`${name}: warning: ${warning}\n`);
        each.add(answer, () => `${answer.id}\n`);
        ids.push(answer.id);
      }
      if (refused.length > 0) throw new Exit(code, refused.join('\n'));
    }
  } finally {
    // What was submitted before a refusal is submitted: its ids are told.
    each.end();
  }
  if (flags.wait || flags.follow) await waitForAll(ids, session);
};

/**
 * The jobs of each file, or every mistake in any of them: those seen here, and in what could be read those that the server
 * finds.
 */
export const readAll = async (
  names: readonly string[],
  { client, flags, io }: Pick<Session<{ readonly set: readonly string[] }>, 'client' | 'flags' | 'io'>,
): Promise<(readonly JobFile[])[]> => {
  const files = await Promise.all(names.map((name) => readJobFile(name, flags.set, io.cwd)));
  if (files.every((read) => read.every(isRead))) return files;
  const mistakes: string[] = [];
  for (const one of files.flat()) {
    if ('mistakes' in one) mistakes.push(...one.mistakes);
    const file = 'job' in one ? one : one.file;
    if (file) mistakes.push(...(await mistakesThere(client, file)));
  }
  throw usage(mistakes.join('\n'));
};

const isRead = (one: ReadJobFile): one is JobFile => 'job' in one;

/** Stands for the content of files that are not there, so that the rest of the job can be looked at. */
const NO_CONTENT = '0'.repeat(64);

/** A dry run names what the server would refuse. Without a server what is seen here has to do. */
const mistakesThere = async (client: EscalonClient, file: JobFile): Promise<readonly string[]> => {
  try {
    const job = await withStoredInputs(file, () => Promise.resolve({ sha256: NO_CONTENT }));
    await client.planJob(withoutReferences(job));
    return [];
  } catch (error) {
    return error instanceof ProblemError && isRefusal(error) ? mistakesOf(error, file.name) : [];
  }
};

/** One key may not stand for two jobs, so each file of several gets its own. */
const keyFor = (key: string | undefined, index: number, files: number): string | undefined =>
  key === undefined || files === 1 ? key : `${key}-${index + 1}`;

/** Stores the inputs that are files here, then submits. */
export const submitFile = async (client: EscalonClient, file: JobFile, key: string): Promise<SubmitAnswer> => {
  const job = await withStoredInputs(file, (path) => storeFile(client, path));
  try {
    return await twice(() => client.submitJob(job, { idempotencyKey: key }));
  } catch (error) {
    throw asUsage(error, file.name);
  }
};

/** What came of a file's jobs: the answers with the names of their jobs, and what is wrong with those that were not taken. */
interface SubmittedJobs {
  readonly answers: readonly (readonly [name: string, answer: SubmitAnswer])[];
  readonly refused: readonly string[];
  /** How the verb ends when some were refused: it is the server's fault when it could not store them. */
  readonly code: ExitCode;
}

/** Several jobs of one file go together, for they may wait for each other. */
const submitJobs = async (
  { client, io }: Pick<Session<SubmitFlags>, 'client' | 'io'>,
  file: readonly JobFile[],
  key: string,
): Promise<SubmittedJobs> => {
  const [only] = file;
  if (only && file.length === 1)
    return { answers: [[only.name, await submitFile(client, only, key)]], refused: [], code: EXIT.usage };
  const jobs: object[] = [];
  for (const one of file) jobs.push(await withStoredInputs(one, (path) => storeFile(client, path)));
  const items = await submitBatch(client, jobs, key, io).catch((error: unknown) => {
    throw asUsageOf(error, file);
  });
  return {
    answers: items.flatMap((item, index) => ('id' in item ? [[nameIn(file, index), item] as const] : [])),
    refused: items.flatMap((item, index) => ('problem' in item ? refusalLines(item.problem, nameIn(file, index)) : [])),
    code: items.some((item) => 'problem' in item && item.problem.retryable) ? EXIT.failed : EXIT.usage,
  };
};

const nameIn = (file: readonly JobFile[], index: number): string => file[index]?.name ?? `job ${String(index + 1)}`;

/** What is refused of jobs that go together, each place told as one of its own job. */
const asUsageOf = (error: unknown, file: readonly JobFile[]): unknown => {
  if (!(error instanceof ProblemError) || !isRefusal(error) || error.errors.length === 0) return error;
  const lines = error.errors.map(({ pointer, message }) => {
    const [, index = '0', place = pointer] = /^\/items\/(\d+)(.*)$/.exec(pointer) ?? [];
    return `${nameIn(file, Number(index))}: ${place || '/'}: ${message}`;
  });
  return new Exit(EXIT.usage, lines.join('\n'));
};

/** A lost answer is asked for again: under the same key what is asked for is stored once. */
export const twice = async <Answer>(post: () => Promise<Written<Answer>>): Promise<Answer> => {
  try {
    return (await post()).body;
  } catch (error) {
    if (!(error instanceof ServerUnreachable)) throw error;
    return (await post()).body;
  }
};

/** What the server refuses of a job file is told like what is wrong with it here, all of it; who may not call is another matter. */
export const asUsage = (error: unknown, name: string): unknown =>
  error instanceof ProblemError && isRefusal(error) ? new Exit(EXIT.usage, mistakesOf(error, name).join('\n')) : error;

const NOT_THE_FILE = new Set([401, 403, 404, 408, 409, 429]);

const isRefusal = ({ status, code }: ProblemError): boolean =>
  (status >= 400 && status < 500 && !NOT_THE_FILE.has(status)) || code === 'PROJECT_NOT_MEMBER';

const mistakesOf = ({ errors, message, code }: ProblemError, name: string): readonly string[] =>
  refusalLines({ errors, detail: message, code }, name);

const refusalLines = (
  { errors, detail, code }: Pick<Problem, 'errors' | 'detail'> & { readonly code: string },
  name: string,
): readonly string[] =>
  errors.length > 0
    ? errors.map(({ pointer, message }) => `${name}: ${pointer || '/'}: ${message}`)
    : [`${name}: ${detail} (${code})`];
