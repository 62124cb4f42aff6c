import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream as NodeReadableStream } from 'node:stream/web';
import type { Artifact, EscalonClient } from '#contracts';

/** Brings an artifact into `folder` under its own path, verified by its digest; answers the file. Never half written. */
export const download = async (client: EscalonClient, artifact: Artifact, folder: string): Promise<string> => {
  const file = inside(folder, artifact.path);
  await mkdir(dirname(file), { recursive: true });
  const partial = `${file}.part`;
  const digest = createHash('sha256');
  const source = Readable.fromWeb((await client.downloadArtifact(artifact.sha256)) as NodeReadableStream);
  source.on('data', (chunk: Uint8Array) => digest.update(chunk));
  await pipeline(source, createWriteStream(partial));
  if (digest.digest('hex') !== artifact.sha256) {
    await rm(partial, { force: true });
    throw new Error(`${artifact.path} arrived damaged: its bytes do not match ${artifact.sha256}`);
  }
  await rename(partial, file);
  return file;
};

/** A path comes from a task: it may not lead out of the folder. */
export const inside = (folder: string, path: string): string => {
  const file = resolve(folder, path);
  const way = relative(resolve(folder), file);
  if (way === '' || way.startsWith('..') || isAbsolute(way))
    throw new Error(`${path} leads out of ${join(folder, '.')}`);
  return file;
};
