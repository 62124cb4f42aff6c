import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode } from './client/errors.js';
import { identityOf, isAlive } from './runner/process-identity.js';
import type { ProcessIdentity } from './runner/process-identity.js';

/** Another agent works in the same data folder. */
class DataFolderInUse extends Error {
  constructor(data: string, pid: number) {
    super(`${data} is in use by another agent (process ${pid})`);
    this.name = 'DataFolderInUse';
  }
}

/** Takes a data folder for this process, also from an agent that died without letting go; answers how to let go. */
export const lockData = async (data: string): Promise<() => Promise<void>> => {
  await mkdir(data, { recursive: true, mode: 0o700 });
  const path = join(data, 'agent.lock');
  for (;;) {
    try {
      await writeFile(path, JSON.stringify(identityOf(process.pid)), { flag: 'wx', mode: 0o600 });
      return () => rm(path, { force: true });
    } catch (error) {
      if (errorCode(error) !== 'EEXIST') throw error;
      const holder = parse(await readFile(path, 'utf8').catch(() => ''));
      if (holder && isAlive(holder)) throw new DataFolderInUse(data, holder.pid);
      await rm(path, { force: true });
    }
  }
};

const parse = (text: string): ProcessIdentity | undefined => {
  try {
    return JSON.parse(text) as ProcessIdentity;
  } catch {
    return undefined;
  }
};
