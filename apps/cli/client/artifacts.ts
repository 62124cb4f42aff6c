import { createHash } from 'node:crypto';
import { createReadStream, openAsBlob } from 'node:fs';
import type { EscalonClient } from '#contracts';

export interface StoredFile {
  readonly sha256: string;
  /** Bytes. */
  readonly size: number;
}

/** Stores a file under its digest, so that a job can name it. The server keeps one copy, however often it is sent. */
export const storeFile = async (client: EscalonClient, file: string): Promise<StoredFile> => {
  const digest = createHash('sha256');
  let size = 0;
  for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
    digest.update(chunk);
    size += chunk.length;
  }
  const sha256 = digest.digest('hex');
  await client.uploadArtifact(sha256, await openAsBlob(file));
  return { sha256, size };
};
