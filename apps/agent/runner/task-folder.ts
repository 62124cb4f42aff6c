import { execFile } from 'node:child_process';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** Where an execution's files are. The task runs in `work`; what the agent needs lies beside it, out of its way. */
export interface TaskFolder {
  readonly root: string;
  readonly work: string;
  readonly home: string;
  readonly temporary: string;
  /** Where the first part of each output stream is; the newest is in pieces beside it, `stdout.OFFSET`. */
  readonly stdout: string;
  readonly stderr: string;
  /** What the supervisor itself had to say: why it could not do its work. */
  readonly trouble: string;
  readonly progress: string;
  readonly exit: string;
  /** The script that becomes the task. */
  readonly launch: string;
}

export const taskFolder = (data: string, executionId: string): TaskFolder => {
  const root = join(data, 'tasks', executionId);
  return {
    root,
    work: join(root, 'work'),
    home: join(root, 'home'),
    temporary: join(root, 'tmp'),
    stdout: join(root, 'stdout'),
    stderr: join(root, 'stderr'),
    trouble: join(root, 'trouble'),
    progress: join(root, 'progress'),
    exit: join(root, 'exit'),
    launch: join(root, 'launch'),
  };
};

export const makeTaskFolder = async (folder: TaskFolder): Promise<void> => {
  for (const path of [folder.work, folder.home, folder.temporary]) await mkdir(path, { recursive: true, mode: 0o700 });
};

/** Removes it whatever a task left in it: folders that nobody may enter, paths longer than any call takes. */
export const removeTaskFolder = async ({ root }: TaskFolder): Promise<void> => {
  try {
    await rm(root, { recursive: true, force: true, maxRetries: 3 });
  } catch {
    await run('chmod', ['-R', 'u+rwx', '--', root]).catch(() => undefined);
    await run('rm', ['-rf', '--', root]);
  }
};

const run = promisify(execFile);
