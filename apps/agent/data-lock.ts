import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock, systemTimers } from '#kernel';
import { errorCode } from './client/errors.js';
import { wait } from './client/wait.js';
import { identityOf, isAlive } from './runner/process-identity.js';
import type { ProcessIdentity } from './runner/process-identity.js';

/** Another agent works in the same data folder. */
class DataFolderInUse extends Error {
  constructor(data: string, pid: number) {
    super(`${data} is in use by another agent (process ${pid})`);
    this.name = 'DataFolderInUse';
  }
}

/** An agent that was told to stop ends its tasks first; the next one waits for that, milliseconds. */
const HOLDER_ENDS_WITHIN = 60_000;
const LOOK_INTERVAL = 200;

/**
 * Takes a data folder for this process, also from an agent that died without letting go; answers how to let go. One that
 * still lives is waited for: it may be about to end.
 */
export const lockData = async (data: string, patience = HOLDER_ENDS_WITHIN): Promise<() => Promise<void>> => {
  await mkdir(data, { recursive: true, mode: 0o700 });
  const path = join(data, 'agent.lock');
  const deadline = systemClock.now() + patience;
  for (;;) {
    try {
      await writeFile(path, JSON.stringify(identityOf(process.pid)), { flag: 'wx', mode: 0o600 });
      return () => rm(path, { force: true });
    } catch (error) {
      if (errorCode(error) !== 'EEXIST') throw error;
      const holder = parse(await readFile(path, 'utf8').catch(() => ''));
      if (!holder || !isAlive(holder)) await rm(path, { force: true });
      else if (systemClock.now() > deadline) throw new DataFolderInUse(data, holder.pid);
      else await wait(systemTimers, LOOK_INTERVAL);
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
