import { lstat } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Why an input cannot be placed at `path` (normal, and inside the task's folder `work`), or undefined where it can: what another
 * input has put there is never replaced, and no way leads through a file or a link of one. A folder that is there already will
 * do for what is `unpacked` into it.
 */
export const placeTaken = async (work: string, path: string, unpacked: boolean): Promise<string | undefined> => {
  const parts = path.split('/');
  for (let length = 1; length <= parts.length; length += 1) {
    const way = parts.slice(0, length).join('/');
    const found = await lstat(join(work, way)).catch(() => undefined);
    if (!found) return undefined;
    if (length === parts.length && !unpacked) return `${path} is there already, from another input`;
    if (!found.isDirectory()) return `${way}, which ${path} needs as a folder, is a file or a link of another input`;
  }
  return undefined;
};
