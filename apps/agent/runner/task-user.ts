import { execFile } from 'node:child_process';
import { chmod, chown, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Logger } from 'pino';
import type { TaskFolder } from './task-folder.js';

const run = promisify(execFile);

/** The user that tasks run as, when it is not the agent's own. */
export interface TaskUser {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  /** What a command is put behind to run as this user, without a way back to more privilege. */
  readonly prefix: readonly string[];
}

/** Tasks cannot be run as the user that was asked for. */
class NoTaskUser extends Error {
  constructor(name: string, why: string) {
    super(`taskUser ${name}: ${why}`);
    this.name = 'NoTaskUser';
  }
}

const TOOL = 'setpriv';
const TOOL_PATH = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' };

/**
 * Finds the user and opens the way to the tasks' folders for it, and no further: it may pass through the data folder, not list
 * it. Whatever stands in the way is told at the agent's start rather than by every task.
 */
const findTaskUser = async (name: string, data: string): Promise<TaskUser> => {
  if (process.getuid?.() !== 0)
    throw new NoTaskUser(name, 'only an agent that runs as root can run tasks as another user');
  const number = async (flag: string): Promise<number> => Number((await run('id', [flag, name])).stdout);
  const ids = await Promise.all([number('-u'), number('-g')]).catch(() => undefined);
  if (!ids) throw new NoTaskUser(name, 'there is no such user');
  const [uid, gid] = ids;
  const tool = (
    await run('/bin/sh', ['-c', `command -v ${TOOL}`], { env: TOOL_PATH }).catch(() => undefined)
  )?.stdout.trim();
  if (!tool) throw new NoTaskUser(name, `${TOOL} (of util-linux) is not installed`);
  const prefix = [tool, '--reuid', String(uid), '--regid', String(gid), '--init-groups', '--no-new-privs', '--'];
  const tasks = join(data, 'tasks');
  await mkdir(tasks, { recursive: true });
  for (const folder of [data, tasks]) await chmod(folder, 0o711);
  await run(prefix[0] ?? tool, [...prefix.slice(1), '/bin/sh', '-c', 'cd "$0"', tasks]).catch(() => {
    throw new NoTaskUser(name, `it cannot get to ${tasks}: let it pass (x) through the folders above`);
  });
  return { name, uid, gid, prefix };
};

/**
 * The user that the configuration names, if any. Without one an agent that runs as root goes on all the same, since nothing else
 * may be at hand on a machine that is set up so, but says each time what that means.
 */
export const chooseTaskUser = async (
  name: string | undefined,
  data: string,
  log: Pick<Logger, 'warn'>,
  isRoot = process.getuid?.() === 0,
): Promise<TaskUser | undefined> => {
  if (name !== undefined) return findTaskUser(name, data);
  if (isRoot)
    log.warn(
      { hint: 'name a taskUser in the configuration, or run the agent as a user of its own' },
      'tasks run as root: they can read the node’s token and all else on this machine',
    );
  return undefined;
};

/**
 * Makes a task's files the user's. The folder around them stays the agent's, so that none of them can be put in another's
 * place: not the logs, not the file that tells how the task ended.
 */
export const handOver = async (folder: TaskFolder, { uid, gid }: Pick<TaskUser, 'uid' | 'gid'>): Promise<void> => {
  await chmod(folder.root, 0o711);
  await writeFile(folder.progress, '', { flag: 'a', mode: 0o600 });
  await chown(folder.progress, uid, gid);
  await run('chown', ['-hR', `${uid}:${gid}`, folder.work, folder.home, folder.temporary]);
};
