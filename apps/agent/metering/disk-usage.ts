import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Bytes that a folder's files take on disk (blocks, not lengths), a file with several names counted once. Files that
 * vanish meanwhile count as nothing.
 */
export const diskUsage = async (folder: string, seen = new Set<string>()): Promise<number> => {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  let total = 0;
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) total += await diskUsage(path, seen);
    else total += await fileUsage(path, seen);
  }
  return total;
};

const fileUsage = async (path: string, seen: Set<string>): Promise<number> => {
  const file = await lstat(path).catch(() => undefined);
  if (!file) return 0;
  if (file.nlink > 1) {
    const identity = `${file.dev}:${file.ino}`;
    if (seen.has(identity)) return 0;
    seen.add(identity);
  }
  return file.blocks * 512;
};
