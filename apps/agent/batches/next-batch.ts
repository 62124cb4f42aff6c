import { rm } from 'node:fs/promises';
import type { Assignment } from '#contracts';
import { nextRange } from '#governor';
import { writtenEnd } from '../logs/task-log.js';
import type { TaskFolder } from '../runner/task-folder.js';
import type { Batches, BatchSizes } from './batches.js';
import { memoryForTasks } from './free-memory.js';

/**
 * Chooses the next batch, if the task works in several, and takes away what the last one left beside the task's own files.
 * Memory is looked at while nothing of the task runs.
 */
export const nextBatches = async (
  { assignment, batches }: { readonly assignment: Assignment; readonly batches?: Batches },
  folder: TaskFolder,
  sizes: BatchSizes,
): Promise<Batches | undefined> => {
  if (!batches) return undefined;
  const { sequence, last } = batches;
  const free = memoryForTasks();
  const seen = { ...(free !== undefined && { freeMemory: free }), ...(last && { last }) };
  const range = nextRange(sequence, sizes(assignment, seen));
  if (!range) throw new Error('all items are done already');
  for (const file of [folder.exit, folder.progress]) await rm(file, { force: true });
  const current = { ...range, stdout: await writtenEnd(folder.stdout), stderr: await writtenEnd(folder.stderr) };
  return { ...batches, current };
};
