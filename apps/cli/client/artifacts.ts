import { createHash } from 'node:crypto';
import { createReadStream, openAsBlob } from 'node:fs';
import type { EscalonClient } from '#contracts';

export interface StoredFile {
  readonly sha256: string;
  /** Bytes. */
  readonly size: number;
}

/** What a file is stored under; nothing is sent. */
export const digestOf = async (file: string): Promise<StoredFile> => {
  const digest = createHash('sha256');
  let size = 0;
  for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
    digest.update(chunk);
    size += chunk.length;
  }
  return { sha256: digest.digest('hex'), size };
};

/** Stores a file under its digest, so that a job can name it. The server keeps one copy, however often it is sent. */
export const storeFile = async (client: EscalonClient, file: string): Promise<StoredFile> => {
  const stored = await digestOf(file);
  await client.uploadArtifact(stored.sha256, await openAsBlob(file));
  return stored;
};
