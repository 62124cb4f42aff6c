import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Readable } from 'node:stream';

/** The bytes that came are not those that the digest names; nothing is kept. */
export class DigestMismatch extends Error {
  override readonly name = 'DigestMismatch';
  constructor(
    readonly expected: string,
    readonly actual: string,
  ) {
    super(`the bytes have sha256 ${actual}, not ${expected}`);
  }
}

/** An upload goes on at another place than where the last one broke off. */
export class UploadGap extends Error {
  override readonly name = 'UploadGap';
  constructor(readonly expected: number) {
    super(`the upload goes on at byte ${String(expected)}`);
  }
}

/**
 * Bytes by their sha256, in a folder. A file appears under its digest only when it is whole, verified and on disk; what
 * an interrupted upload left is kept apart and can be continued.
 */
export class LocalArtifactStore {
  private readonly uploads = new Map<string, Promise<unknown>>();

  constructor(private readonly root: string) {}

  /** Bytes of a stored artifact, or undefined when it is not there. */
  async size(sha256: string): Promise<number | undefined> {
    return sizeOf(this.place(sha256));
  }

  /** How much of an interrupted upload is kept. */
  async offset(sha256: string): Promise<number> {
    return (await sizeOf(this.partial(sha256))) ?? 0;
  }

  /** `start` and `end` (both inclusive) as in an HTTP range. */
  read(sha256: string, range: { start?: number; end?: number } = {}): Readable {
    return createReadStream(this.place(sha256), range);
  }

  /**
   * Takes the bytes from `offset` on; answers the size once the whole is verified. Uploads of one digest follow each
   * other. Throws `UploadGap` or `DigestMismatch`; a broken stream rejects, and what came of it is kept.
   */
  put(sha256: string, bytes: Readable, offset = 0): Promise<number> {
    const before = this.uploads.get(sha256) ?? Promise.resolve();
    const upload = before.then(() => this.take(sha256, bytes, offset));
    const settled = upload
      .catch(() => undefined)
      .then(() => {
        if (this.uploads.get(sha256) === settled) this.uploads.delete(sha256);
      });
    this.uploads.set(sha256, settled);
    return upload;
  }

  private async take(sha256: string, bytes: Readable, offset: number): Promise<number> {
    const stored = await this.size(sha256);
    if (stored !== undefined) {
      bytes.resume();
      return stored;
    }
    const partial = this.partial(sha256);
    const kept = await this.offset(sha256);
    if (offset > kept) throw new UploadGap(kept);
    await mkdir(dirname(partial), { recursive: true });
    if (offset === 0) await rm(partial, { force: true });
    await pipeline(bytes, createWriteStream(partial, offset === 0 ? {} : { flags: 'r+', start: offset }));
    return this.finish(sha256, partial);
  }

  private async finish(sha256: string, partial: string): Promise<number> {
    const actual = await digestOf(partial);
    if (actual !== sha256) {
      await rm(partial, { force: true });
      throw new DigestMismatch(sha256, actual);
    }
    await sync(partial, 'r+');
    const place = this.place(sha256);
    const folder = dirname(place);
    await mkdir(folder, { recursive: true });
    await rename(partial, place);
    // The names are data too: without this a power cut could undo the rename, or the folder, after the answer.
    await sync(folder, 'r');
    await sync(this.root, 'r');
    return (await stat(place)).size;
  }

  private place(sha256: string): string {
    return join(this.root, sha256.slice(0, 2), sha256.slice(2));
  }

  private partial(sha256: string): string {
    return join(this.root, 'incoming', sha256);
  }
}

const sizeOf = async (path: string): Promise<number | undefined> => {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
};

const sync = async (path: string, flags: string): Promise<void> => {
  const file = await open(path, flags);
  try {
    await file.sync();
  } finally {
    await file.close();
  }
};

const digestOf = async (path: string): Promise<string> => {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
};
