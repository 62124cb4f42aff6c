import { readFile, rm, writeFile } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import type { DataFolder } from './data-folder.js';

export class DataFolderInUse extends Error {
  override readonly name = 'DataFolderInUse';
}

export interface Lock {
  release(): Promise<void>;
}

/**
 * Takes the folder for this process. The lock is one of the operating system's (SQLite holds it on the file), so it
 * ends with the process however that ends, and is never stale. Throws `DataFolderInUse`, naming the holder.
 */
export const lockDataFolder = async (folder: DataFolder): Promise<Lock> => {
  const database = new DatabaseSync(folder.lock);
  try {
    database.exec('PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if (!/locked|busy/i.test(String(error))) throw error;
    throw new DataFolderInUse(await describeHolder(folder), { cause: error });
  }
  await writeFile(folder.holder, String(process.pid), { mode: 0o600 });
  return {
    release: async () => {
      await rm(folder.holder, { force: true });
      database.close();
    },
  };
};

const describeHolder = async (folder: DataFolder): Promise<string> => {
  const [pid, url] = await Promise.all(
    [folder.holder, folder.url].map((file) => readFile(file, 'utf8').catch(() => '')),
  );
  const who = pid ? ` (pid ${pid.trim()})` : '';
  const where = url ? ` at ${url.trim()}` : '';
  return `another \`escalon up\`${who} runs on ${folder.root}${where}; stop it first, or choose another folder with --data`;
};
