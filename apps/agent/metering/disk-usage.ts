import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** Bytes that a folder's files take on disk (blocks, not lengths). Files that vanish meanwhile count as nothing. */
export const diskUsage = async (folder: string): Promise<number> => {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  let total = 0;
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) total += await diskUsage(path);
    else total += ((await lstat(path).catch(() => undefined))?.blocks ?? 0) * 512;
  }
  return total;
};
