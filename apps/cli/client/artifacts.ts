import { createHash } from 'node:crypto';
import { createReadStream, openAsBlob } from 'node:fs';
import type { Api } from './api.js';

export interface StoredFile {
  readonly sha256: string;
  /** Bytes. */
  readonly size: number;
}

/** Stores a file under its digest, so that a job can name it. The server keeps one copy, however often it is sent. */
export const storeFile = async (api: Api, file: string): Promise<StoredFile> => {
  const digest = createHash('sha256');
  let size = 0;
  for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
    digest.update(chunk);
    size += chunk.length;
  }
  const sha256 = digest.digest('hex');
  await api.request('PUT', `/artifacts/${sha256}`, { bytes: await openAsBlob(file) });
  return { sha256, size };
};
