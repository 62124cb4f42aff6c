import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** Where an execution's files are. The task runs in `work`; what the agent needs lies beside it, out of its way. */
export interface TaskFolder {
  readonly root: string;
  readonly work: string;
  readonly home: string;
  readonly temporary: string;
  readonly stdout: string;
  readonly stderr: string;
  readonly progress: string;
  readonly exit: string;
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
    progress: join(root, 'progress'),
    exit: join(root, 'exit'),
  };
};

export const makeTaskFolder = async (folder: TaskFolder): Promise<void> => {
  for (const path of [folder.work, folder.home, folder.temporary]) await mkdir(path, { recursive: true, mode: 0o700 });
};

export const removeTaskFolder = (folder: TaskFolder): Promise<void> =>
  rm(folder.root, { recursive: true, force: true, maxRetries: 3 });
