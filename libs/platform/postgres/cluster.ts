import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chown, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { EmbeddedPostgresUnavailable } from './faults.js';
import { commandAs } from './identity.js';
import type { PostgresBinaries } from './binaries.js';
import type { Identity } from './identity.js';

/** Everything of one server below its data folder. */
export interface Cluster {
  /** Postgres' own data directory. */
  readonly directory: string;
  readonly password: string;
}

/** The account and the database that Escalon uses on its own server. */
export const ACCOUNT = 'escalon';
export const DATABASE = 'escalon';

/**
 * Opens the cluster below `dataDir`, making it first when there is none. It is made under another name and renamed, so
 * that a launcher that dies in between leaves none rather than half of one.
 */
export const openCluster = async (
  dataDir: string,
  binaries: PostgresBinaries,
  identity: Identity,
): Promise<Cluster> => {
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const passwordFile = join(dataDir, 'password');
  const password = await keptPassword(passwordFile);
  const directory = join(dataDir, 'cluster');
  if (identity.kind === 'postgres-user') {
    await Promise.all([dataDir, passwordFile].map((path) => chown(path, identity.uid, identity.gid)));
  }
  if (!existsSync(directory)) await create(directory, passwordFile, binaries, identity);
  return { directory, password };
};

/** The password made at first; readable by its owner only. Of two launchers at once, the first to write it decides. */
const keptPassword = async (file: string): Promise<string> => {
  try {
    await writeFile(file, `${randomBytes(24).toString('base64url')}\n`, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const password = (await readFile(file, 'utf8')).trim();
  if (password === '') throw new EmbeddedPostgresUnavailable(`${file} is empty`);
  return password;
};

const create = async (
  directory: string,
  passwordFile: string,
  { initdb }: PostgresBinaries,
  identity: Identity,
): Promise<void> => {
  const unfinished = `${directory}.${process.pid}`;
  await rm(unfinished, { recursive: true, force: true });
  const options = [
    `--pgdata=${unfinished}`,
    `--username=${ACCOUNT}`,
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--locale=C',
  ];
  const { file, args, owner } = commandAs(identity, initdb, options);
  try {
    await promisify(execFile)(file, args, owner);
  } catch (cause) {
    await rm(unfinished, { recursive: true, force: true });
    throw new EmbeddedPostgresUnavailable(`initdb failed: ${lastLines(cause)}`, { cause });
  }
  await install(unfinished, directory);
};

const install = async (unfinished: string, directory: string): Promise<void> => {
  try {
    await rename(unfinished, directory);
  } catch (error) {
    if (!existsSync(directory)) throw error;
    // Another launcher was faster with the same folder.
    await rm(unfinished, { recursive: true, force: true });
  }
};

const lastLines = (fault: unknown): string => {
  const { stderr, message } = fault as { stderr?: string; message?: string };
  return (stderr?.trim() || message || String(fault)).split('\n').slice(-5).join(' | ');
};
