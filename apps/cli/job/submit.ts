import { storeFile } from '../client/artifacts.js';
import { ProblemError, ServerUnreachable } from '#contracts';
import { EXIT, Exit, usage } from '../exit-codes.js';
import { writeEach } from '../output/format.js';
import { readJobFile, withStoredInputs } from './job-file.js';
import { waitForAll } from './wait.js';
import type { EscalonClient, SubmitAnswer, Written } from '#contracts';
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
  const files = await readAll(names, session);
  const ids: string[] = [];
  const each = writeEach(io.out, output, files.length);
  try {
    for (const [index, file] of files.entries()) {
      const key = keyFor(flags.idempotencyKey, index, files.length) ?? io.ids.next();
      const answer = await submitFile(client, file, key);
      for (const warning of answer.warnings) io.err.write(`${file.name}: warning: ${warning}\n`);
      each.add(answer, () => `${answer.id}\n`);
      ids.push(answer.id);
    }
  } finally {
    // What was submitted before a refusal is submitted: its ids are told.
    each.end();
  }
  if (flags.wait || flags.follow) await waitForAll(ids, session);
};

/** The files, or every mistake in any of them: those seen here, and in what could be read those that the server finds. */
export const readAll = async (
  names: readonly string[],
  { client, flags, io }: Pick<Session<{ readonly set: readonly string[] }>, 'client' | 'flags' | 'io'>,
): Promise<JobFile[]> => {
  const read = await Promise.all(names.map((name) => readJobFile(name, flags.set, io.cwd)));
  if (read.every((file) => 'job' in file)) return read;
  const mistakes: string[] = [];
  for (const one of read) {
    if ('mistakes' in one) mistakes.push(...one.mistakes);
    const file = 'job' in one ? one : one.file;
    if (file) mistakes.push(...(await mistakesThere(client, file)));
  }
  throw usage(mistakes.join('\n'));
};

/** Stands for the content of files that are not there, so that the rest of the job can be looked at. */
const NO_CONTENT = '0'.repeat(64);

/** A dry run names what the server would refuse. Without a server what is seen here has to do. */
const mistakesThere = async (client: EscalonClient, file: JobFile): Promise<readonly string[]> => {
  try {
    await client.planJob(await withStoredInputs(file, () => Promise.resolve({ sha256: NO_CONTENT })));
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

/** A lost answer is asked for again: under the same key the job is stored once. */
export const twice = async (post: () => Promise<Written<SubmitAnswer>>): Promise<SubmitAnswer> => {
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
  errors.length > 0
    ? errors.map(({ pointer, message: mistake }) => `${name}: ${pointer || '/'}: ${mistake}`)
    : [`${name}: ${message} (${code})`];
