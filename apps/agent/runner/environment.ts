import { delimiter, dirname } from 'node:path';
import type { Assignment } from '#contracts';
import { batchEnvironment } from '../batches/batches.js';
import type { Batches } from '../batches/batches.js';
import type { TaskFolder } from './task-folder.js';

/** The agent's search path with the running Node's folder first, so that a task's `node` is the one in the inventory. */
export const searchPath = (own = process.env['PATH'] ?? '/usr/local/bin:/usr/bin:/bin'): string => {
  const node = dirname(process.execPath);
  return [node, ...own.split(delimiter).filter((folder) => folder !== node && folder !== '')].join(delimiter);
};

/**
 * The task's whole environment: nothing of the agent's own (its token least of all) but the search path and language.
 * The job's variables may change those, never the `ESCALON_` ones that tell the task its contract.
 */
export const taskEnvironment = (
  assignment: Assignment,
  folder: TaskFolder,
  batches?: Batches,
): Record<string, string> => ({
  PATH: searchPath(),
  LANG: process.env['LANG'] ?? 'C.UTF-8',
  ...containerEnvironment(assignment, folder, batches),
});

/** What is added to the environment of an image, which has a search path and a language of its own. */
export const containerEnvironment = (
  assignment: Assignment,
  folder: TaskFolder,
  batches?: Batches,
): Record<string, string> => {
  const { contract, task } = assignment;
  const gpus = contract.gpus.map(({ id }) => id).join(',');
  return {
    HOME: folder.home,
    TMPDIR: folder.temporary,
    ...task.env,
    CUDA_VISIBLE_DEVICES: gpus,
    ESCALON_JOB_ID: assignment.jobId,
    ESCALON_EXECUTION_ID: assignment.executionId,
    ESCALON_ATTEMPT: String(assignment.attempt),
    ESCALON_PARTITION: String(task.partition),
    ESCALON_PARTITIONS: String(task.partitions),
    ESCALON_CPUS: String(contract.cpu),
    ESCALON_MEMORY: String(contract.memory),
    ESCALON_GPUS: gpus,
    ...(contract.batchSize === undefined ? {} : { ESCALON_BATCH_SIZE: String(contract.batchSize) }),
    ...(batches && batchEnvironment(batches)),
    ESCALON_PROGRESS_FILE: folder.progress,
  };
};
