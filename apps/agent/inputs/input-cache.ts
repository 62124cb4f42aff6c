import { constants } from 'node:fs';
import { copyFile, mkdir, readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Clock, Ids } from '#kernel';

/** Files used within this span are kept whatever the cache's size: a task may be about to copy them. */
const IN_USE = 10 * 60_000;

/** Fills `path` with the bytes of a digest, verified. */
export type Fill = (path: string) => Promise<void>;

/**
 * Inputs by content, shared by all tasks of the node. A file gets its name only when complete and verified; several
 * tasks that want one digest at once share one fetch. Tasks get copies (by reference where the file system can), never the
 * file itself, so a task that writes to its input spoils nobody else's.
 */
export class InputCache {
  private readonly fetching = new Map<string, Promise<void>>();

  constructor(
    private readonly folder: string,
    private readonly limit: number,
    private readonly clock: Clock,
    private readonly ids: Ids,
  ) {}

  has(sha256: string): Promise<boolean> {
    return stat(this.path(sha256)).then(
      () => true,
      () => false,
    );
  }

  /** Puts a copy of the digest's bytes at `target`, filling the cache first when it has none. */
  async place(sha256: string, target: string, fill: Fill): Promise<void> {
    await mkdir(dirname(target), { recursive: true });
    for (;;) {
      if (!(await this.has(sha256))) await this.fetchOnce(sha256, fill);
      try {
        await utimes(this.path(sha256), this.clock.now() / 1000, this.clock.now() / 1000);
        await copyFile(this.path(sha256), target, constants.COPYFILE_FICLONE);
        return;
      } catch (error) {
        if (await this.has(sha256)) throw error;
      }
    }
  }

  /** A fresh path for a download, in the cache's own file system so that it can be renamed into place. */
  async temporary(): Promise<string> {
    const folder = join(this.folder, 'partial');
    await mkdir(folder, { recursive: true, mode: 0o700 });
    return join(folder, this.ids.next());
  }

  /** Throws away what a crash left half fetched. For the agent's start, before anything fetches. */
  clearPartial(): Promise<void> {
    return rm(join(this.folder, 'partial'), { recursive: true, force: true });
  }

  private path(sha256: string): string {
    return join(this.folder, 'sha256', sha256.slice(0, 2), sha256);
  }

  private fetchOnce(sha256: string, fill: Fill): Promise<void> {
    const running = this.fetching.get(sha256);
    if (running) return running;
    const fetch = this.fetch(sha256, fill).finally(() => this.fetching.delete(sha256));
    this.fetching.set(sha256, fetch);
    return fetch;
  }

  private async fetch(sha256: string, fill: Fill): Promise<void> {
    const partial = await this.temporary();
    try {
      await fill(partial);
      await mkdir(dirname(this.path(sha256)), { recursive: true, mode: 0o700 });
      await rename(partial, this.path(sha256));
    } finally {
      await rm(partial, { force: true });
    }
    await this.trim();
  }

  /** Removes the least recently used files until the cache is within its limit. */
  private async trim(): Promise<void> {
    const names = await readdir(join(this.folder, 'sha256'), { recursive: true });
    const files = await Promise.all(
      names.map(async (name) => {
        const path = join(this.folder, 'sha256', name);
        const info = await stat(path).catch(() => undefined);
        return info?.isFile() ? [{ path, size: info.size, used: info.mtimeMs }] : [];
      }),
    );
    const oldest = files.flat().sort((left, right) => left.used - right.used);
    let total = oldest.reduce((sum, { size }) => sum + size, 0);
    for (const { path, size, used } of oldest) {
      if (total <= this.limit || used > this.clock.now() - IN_USE) return;
      await rm(path, { force: true });
      total -= size;
    }
  }
}
