import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** What a server wrote about itself into `postmaster.pid`. */
export interface Postmaster {
  readonly pid: number;
  readonly port: number;
  readonly ready: boolean;
  readonly stopping: boolean;
}

const FILE = 'postmaster.pid';
const LINE = { pid: 0, port: 3, status: 7 };

/** The server that holds the cluster, or undefined when there is none (or it has not yet written where it listens). */
export const readPostmaster = async (directory: string): Promise<Postmaster | undefined> => {
  const text = await readFile(join(directory, FILE), 'utf8').catch(() => '');
  const lines = text.split('\n').map((line) => line.trim());
  const pid = Number(lines[LINE.pid]);
  const port = Number(lines[LINE.port]);
  if (!Number.isInteger(pid) || pid <= 0) return undefined;
  const status = lines[LINE.status] ?? '';
  return { pid, port, ready: status === 'ready' && port > 0, stopping: status === 'stopping' };
};

/**
 * The server that lives and holds the cluster. A file left by a crash names a process that is gone, or, after a
 * reboot, one that has nothing to do with Postgres: then it is removed, for Postgres itself would refuse to start.
 */
export const livingPostmaster = async (directory: string): Promise<Postmaster | undefined> => {
  const postmaster = await readPostmaster(directory);
  if (!postmaster) return undefined;
  if (isRunning(postmaster.pid) && (await commandLine(postmaster.pid)).includes(directory)) return postmaster;
  await rm(join(directory, FILE), { force: true });
  return undefined;
};

/** Whether the process lives. One that has ended and that nobody waits for (a zombie) does not. */
export const isRunning = (pid: number): boolean => {
  try {
    if (process.platform === 'linux') return readFileSync(`/proc/${pid}/cmdline`).length > 0;
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
};

/** The command line of a process; empty when it is gone or a zombie. */
export const commandLine = async (pid: number): Promise<string> => {
  try {
    if (process.platform === 'linux') return (await readFile(`/proc/${pid}/cmdline`, 'utf8')).replaceAll('\0', ' ');
    const { stdout } = await promisify(execFile)('ps', ['-o', 'command=', '-p', String(pid)]);
    return stdout.trim();
  } catch {
    return '';
  }
};
