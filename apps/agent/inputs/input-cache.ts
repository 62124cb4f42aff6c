import { constants } from 'node:fs';
import { copyFile, mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { CacheFolder } from './cache-folder.js';
import { CacheIndex } from './cache-index.js';

/** A way to have the bytes of a digest. */
export interface Supply {
  /** Where they come from: those who want them from the same place share a fetch and its failure. */
  readonly from: string;
  /** Fills `path` with them, verified and on disk; what is there already is part of them. */
  readonly fill: (path: string) => Promise<void>;
}

interface Fetch {
  readonly from: string;
  readonly done: Promise<void>;
}

/** A promise that a cached file stays. */
export interface Lease {
  readonly sha256: string;
  readonly size: number;
  /** Where the file is. It belongs to all tasks: read it, copy it, never change it. */
  readonly path: string;
  release(): void;
}

/**
 * Inputs by content, shared by all tasks of the node. Several that want one digest at once share one fetch. Tasks get copies
 * (by reference where the file system can), never the file itself, so a task that writes to its input spoils nobody
 * else's. What was found at the start is verified when it is first used. Beyond `limit` bytes the least recently used
 * goes, but nothing that is leased: while running tasks hold more than the limit, so does the cache.
 */
export class InputCache {
  private readonly fetching = new Map<string, Fetch>();
  private readonly checking = new Map<string, Promise<boolean>>();
  private readonly removals = new Map<string, Promise<void>>();

  private constructor(
    private readonly folder: CacheFolder,
    private readonly index: CacheIndex,
    /** Found at the start and not read since. */
    private readonly unverified: Set<string>,
    private readonly limit: number,
    private readonly changed: () => void,
  ) {}

  /** Takes up what an earlier process left in the folder. `changed` is called after each change of what is held. */
  static async open(folder: CacheFolder, limit: number, changed: () => void): Promise<InputCache> {
    const index = new CacheIndex();
    const files = await folder.tidy();
    for (const { sha256, size } of files) index.add(sha256, size);
    const unverified = new Set(files.map(({ sha256 }) => sha256));
    const cache = new InputCache(folder, index, unverified, limit, changed);
    cache.trim();
    return cache;
  }

  has(sha256: string): boolean {
    return this.index.sizeOf(sha256) !== undefined;
  }

  /** Digests of what is held, see `CacheIndex.recent`. */
  recent(least: number, most: number): string[] {
    return this.index.recent(least, most);
  }

  /** Leases a digest's file, filling the cache first when it has none. */
  async lease(sha256: string, supply: Supply): Promise<Lease> {
    for (;;) {
      const held = this.leaseHeld(sha256);
      if (!held) await this.fetchOnce(sha256, supply);
      else if (await this.isGood(held)) return held;
      else {
        held.release();
        this.drop(sha256);
      }
    }
  }

  /** Leases what is there now. */
  leaseHeld(sha256: string): Lease | undefined {
    const entry = this.index.use(sha256);
    if (!entry) return undefined;
    let released = false;
    const release = (): void => {
      if (released) return;
      released = true;
      this.index.release(entry);
      this.trim();
    };
    return { sha256, size: entry.size, path: this.folder.path(sha256, entry.size), release };
  }

  /** Keeps for later processes that a leased file is in use now. */
  used({ sha256, size }: Lease): Promise<void> {
    return this.folder.used(sha256, size);
  }

  /** Copies a leased file to `target`. */
  async copy({ path }: Lease, target: string): Promise<void> {
    await mkdir(dirname(target), { recursive: true });
    await copyFile(path, target, constants.COPYFILE_FICLONE);
  }

  temporary(): Promise<string> {
    return this.folder.temporary();
  }

  private isGood({ sha256, size }: Lease): Promise<boolean> {
    const running = this.checking.get(sha256);
    if (running) return running;
    const check = this.check(sha256, size).finally(() => this.checking.delete(sha256));
    this.checking.set(sha256, check);
    return check;
  }

  private async check(sha256: string, size: number): Promise<boolean> {
    if (!(await this.folder.isWhole(sha256, size))) return false;
    if (!this.unverified.has(sha256)) return true;
    const verifies = await this.folder.verifies(sha256, size).catch(() => false);
    if (verifies) this.unverified.delete(sha256);
    return verifies;
  }

  private drop(sha256: string): void {
    const size = this.index.sizeOf(sha256);
    if (size === undefined) return;
    this.index.remove(sha256);
    this.unverified.delete(sha256);
    this.changed();
    // What cannot be removed is found again at the next start.
    const removal = this.folder.remove(sha256, size).catch(() => undefined);
    this.removals.set(sha256, removal);
    void removal.then(() => this.removals.delete(sha256));
  }

  private fetchOnce(sha256: string, supply: Supply): Promise<void> {
    const running = this.fetching.get(sha256);
    // From somewhere else it may fail for reasons of its own; then this way is tried.
    if (running) return running.from === supply.from ? running.done : running.done.catch(() => undefined);
    const done = this.fetch(sha256, supply).finally(() => this.fetching.delete(sha256));
    this.fetching.set(sha256, { from: supply.from, done });
    return done;
  }

  private async fetch(sha256: string, { fill }: Supply): Promise<void> {
    await this.removals.get(sha256);
    await fill(await this.folder.partial(sha256));
    const size = await this.folder.accept(sha256);
    this.index.add(sha256, size);
    this.changed();
    // Whoever waited for it leases it first.
    setImmediate(() => this.trim());
  }

  private trim(): void {
    for (const sha256 of this.index.overflow(this.limit)) this.drop(sha256);
  }
}
