import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Clock, Ids, Millis } from '#kernel';
import { flushFolder } from '../flush-folder.js';

/** A cached file as it lies in the folder. */
export interface CachedFile {
  readonly sha256: string;
  readonly size: number;
  readonly usedAt: Millis;
}

const NAME = /^([0-9a-f]{64})\.(\d{1,15})$/;
const DIGEST = /^[0-9a-f]{64}$/;
/** What a crash left half fetched is worth continuing for this long. */
const PARTIAL_KEPT = 24 * 3_600_000;

/**
 * Where a cache's files are. A file is written under `partial`, and gets its name (digest and size) when it is whole,
 * verified and on disk; so whatever has such a name and that size is whole, whenever the machine went down. When it was
 * used last is its modification time.
 */
export class CacheFolder {
  constructor(
    private readonly root: string,
    private readonly clock: Clock,
    private readonly ids: Ids,
  ) {}

  /** Throws away what is no whole file, or was left half fetched too long ago, and tells the rest, oldest use first. */
  async tidy(): Promise<CachedFile[]> {
    await this.tidyPartials();
    const folder = join(this.root, 'sha256');
    const files: CachedFile[] = [];
    for (const entry of await readdir(folder, { withFileTypes: true, recursive: true }).catch(() => [])) {
      if (entry.isDirectory()) continue;
      const path = join(entry.parentPath, entry.name);
      const [, sha256, size] = NAME.exec(entry.name) ?? [];
      const info = await stat(path);
      if (sha256 === undefined || info.size !== Number(size)) await rm(path, { force: true });
      else files.push({ sha256, size: info.size, usedAt: info.mtimeMs });
    }
    return files.sort((left, right) => left.usedAt - right.usedAt);
  }

  path(sha256: string, size: number): string {
    return join(this.root, 'sha256', sha256.slice(0, 2), `${sha256}.${size}`);
  }

  /** Where a digest's bytes are gathered; the same for the next process. */
  async partial(sha256: string): Promise<string> {
    return this.inPartials(sha256);
  }

  /** A fresh path in the same file system, for what has no digest. */
  async temporary(): Promise<string> {
    return this.inPartials(`tmp-${this.ids.next()}`);
  }

  /** Makes a whole and verified partial file part of the cache; answers its size. */
  async accept(sha256: string): Promise<number> {
    const partial = await this.partial(sha256);
    const { size } = await stat(partial);
    const path = this.path(sha256, size);
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await rename(partial, path);
    await flushFolder(dirname(path));
    return size;
  }

  /** Whether the file is there in its full length. */
  async isWhole(sha256: string, size: number): Promise<boolean> {
    return stat(this.path(sha256, size)).then(
      (info) => info.size === size,
      () => false,
    );
  }

  /** Whether the bytes are those of the digest. Reads them all. */
  async verifies(sha256: string, size: number): Promise<boolean> {
    const hash = createHash('sha256');
    for await (const chunk of createReadStream(this.path(sha256, size)) as AsyncIterable<Buffer>) hash.update(chunk);
    return hash.digest('hex') === sha256;
  }

  async used(sha256: string, size: number): Promise<void> {
    const now = this.clock.now() / 1000;
    await utimes(this.path(sha256, size), now, now);
  }

  async remove(sha256: string, size: number): Promise<void> {
    await rm(this.path(sha256, size), { force: true });
  }

  private async inPartials(name: string): Promise<string> {
    const folder = join(this.root, 'partial');
    await mkdir(folder, { recursive: true, mode: 0o700 });
    return join(folder, name);
  }

  private async tidyPartials(): Promise<void> {
    const folder = join(this.root, 'partial');
    const oldest = this.clock.now() - PARTIAL_KEPT;
    for (const name of await readdir(folder).catch(() => [])) {
      const path = join(folder, name);
      const { mtimeMs } = await stat(path);
      if (!DIGEST.test(name) || mtimeMs < oldest) await rm(path, { recursive: true, force: true });
    }
  }
}
