import { readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { isPlainId } from '../runner/inside.js';
import { NO_PROCESS } from '../runner/process-identity.js';
import { processTable } from '../runner/process-table.js';
import { removeTaskFolder, taskFolder } from '../runner/task-folder.js';
import { environmentOf, MARKED_VARIABLE } from '../runner/task-mark.js';
import { TaskProcess } from '../runner/task-process.js';
import type { ExecutionHost } from './host.js';

/**
 * Ends every process of this data folder's tasks that no known execution accounts for, and removes their folders: what a
 * journal that was lost or cannot be read has left behind. Processes go first, so that nothing fills the folder again.
 */
export const removeOrphans = async (
  { data, groups, timers, log }: Pick<ExecutionHost, 'data' | 'groups' | 'timers' | 'log'>,
  known: ReadonlySet<string>,
): Promise<void> => {
  const folders = await readdir(join(data, 'tasks')).catch(() => []);
  const found = [...folders, ...runningIn(data), ...((await groups?.executions()) ?? [])];
  const orphans = new Set(found.filter((id) => !known.has(id) && isPlainId(id)));
  for (const executionId of orphans) {
    log.warn({ executionId }, 'what is left of an unknown execution is removed');
    const folder = taskFolder(data, executionId);
    const process = TaskProcess.adopt(NO_PROCESS, folder, timers, groups?.of(executionId));
    await process.kill();
    await process.dispose();
    await removeTaskFolder(folder);
  }
};

/** The executions whose processes can be seen, folder or not. */
const runningIn = (data: string): string[] =>
  processTable().flatMap(({ pid }) => {
    const mark = environmentOf(pid).find((variable) => variable.startsWith(`${MARKED_VARIABLE}=`));
    const root = mark && dirname(mark.slice(MARKED_VARIABLE.length + 1));
    return root && dirname(root) === join(data, 'tasks') ? [basename(root)] : [];
  });
