import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { usage } from './exit-codes.js';
import type { Io } from './io.js';

/** Flags that every verb takes. */
export interface ConnectionFlags {
  readonly url?: string;
  readonly token?: string;
  readonly data?: string;
}

export interface Connection {
  readonly url: string;
  /** Absent when none was found: health needs none, everything else will be refused. */
  readonly token?: string;
}

export const DEFAULT_URL = 'http://127.0.0.1:8080';

/** The folder of the local system: `--data`, else `ESCALON_DATA`, else `.escalon` here. */
export const dataFolderOf = (flags: ConnectionFlags, io: Pick<Io, 'env' | 'cwd'>): string =>
  resolve(io.cwd, flags.data ?? (io.env.ESCALON_DATA || '.escalon'));

/**
 * Where to call and as whom: a flag goes before the environment, that before what `up` wrote into the data folder, that
 * before the default.
 */
export const findConnection = async (flags: ConnectionFlags, io: Pick<Io, 'env' | 'cwd'>): Promise<Connection> => {
  const folder = dataFolderOf(flags, io);
  const url = flags.url ?? (io.env.ESCALON_URL || (await textOf(join(folder, 'url'))) || DEFAULT_URL);
  const token = flags.token ?? (io.env.ESCALON_TOKEN || (await textOf(join(folder, 'admin.token'))));
  return { url: checked(url).replace(/\/+$/, ''), ...(token ? { token } : {}) };
};

const checked = (url: string): string => {
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return url;
  throw usage(`error: the address of the API must be a URL such as ${DEFAULT_URL}, not ${JSON.stringify(url)}`);
};

const textOf = async (file: string): Promise<string> => {
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
};
