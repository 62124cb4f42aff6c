import { open } from 'node:fs/promises';

/** Makes the names in a folder durable: they are data too, and without this a power cut could take a rename back. */
export const flushFolder = async (path: string): Promise<void> => {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
};
