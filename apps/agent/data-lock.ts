import { link, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
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
 * still lives is waited for, of which `waiting` is told: it may be about to end.
 */
export const lockData = async (
  data: string,
  waiting: (holder: number) => void = () => undefined,
  patience = HOLDER_ENDS_WITHIN,
): Promise<() => Promise<void>> => {
  await mkdir(data, { recursive: true, mode: 0o700 });
  const path = join(data, 'agent.lock');
  const deadline = systemClock.now() + patience;
  for (let told = false; ;) {
    if (await take(path)) return () => rm(path, { force: true });
    const holder = parse(await readFile(path, 'utf8').catch(() => ''));
    if (!holder || !isAlive(holder)) await setAside(path, holder);
    else if (systemClock.now() > deadline) throw new DataFolderInUse(data, holder.pid);
    else {
      if (!told) waiting(holder.pid);
      told = true;
      await wait(systemTimers, LOOK_INTERVAL);
    }
  }
};

/** Whether it is ours now. It appears with its content, so that nobody reads half of it and takes it for a dead one's. */
const take = async (path: string): Promise<boolean> => {
  const own = `${path}.${process.pid}`;
  await writeFile(own, JSON.stringify(identityOf(process.pid)), { mode: 0o600 });
  try {
    await link(own, path);
    return true;
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
    return false;
  } finally {
    await rm(own, { force: true });
  }
};

/** Takes a dead agent's lock away. Another that starts may have done so, and have its own there by now: that is put back. */
const setAside = async (path: string, dead: ProcessIdentity | undefined): Promise<void> => {
  const aside = `${path}.${process.pid}.old`;
  const moved = await rename(path, aside).then(
    () => true,
    () => false,
  );
  if (!moved) return;
  const found = parse(await readFile(aside, 'utf8'));
  if (found && found.pid !== dead?.pid && isAlive(found)) await link(aside, path).catch(() => undefined);
  await rm(aside, { force: true });
};

const parse = (text: string): ProcessIdentity | undefined => {
  try {
    return JSON.parse(text) as ProcessIdentity;
  } catch {
    return undefined;
  }
};
