import { createReadStream } from 'node:fs';
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock, Ids, Millis } from '#kernel';
import { SNAPSHOTS_KEPT } from './store.js';
import type { SnapshotStore } from './store.js';

const WHOLE = /^cluster-\d+\.ndjson$/;
const PARTIAL = /^cluster-\d+\.ndjson\..+\.partial$/;
/** A partial file that was not touched for so long was left by a process that died. */
const LEFT_BEHIND: Millis = 3_600_000;
/** Wide enough for every 64-bit position, so that names sort as their positions do. */
const DIGITS = 20;
const PIECE = 1024 * 1024;

/**
 * Snapshots as files of a folder, readable by their owner alone: job specifications are in them. Several processes may share
 * the folder. A file gets its name only when all of it is on the disk, so one that was cut short is never found.
 */
export class SnapshotFolder implements SnapshotStore {
  constructor(
    private readonly folder: string,
    private readonly ports: { readonly clock: Clock; readonly ids: Ids },
  ) {}

  async names(): Promise<readonly string[]> {
    return (await this.files())
      .filter((file) => WHOLE.test(file))
      .sort()
      .reverse();
  }

  async *read(name: string): AsyncIterable<string> {
    yield* createReadStream(join(this.folder, name), {
      encoding: 'utf8',
      highWaterMark: PIECE,
    }) as AsyncIterable<string>;
  }

  async write(position: bigint, pieces: Iterable<string>): Promise<void> {
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    const name = `cluster-${String(position).padStart(DIGITS, '0')}.ndjson`;
    const partial = join(this.folder, `${name}.${this.ports.ids.next()}.partial`);
    try {
      await this.fill(partial, pieces);
      await rename(partial, join(this.folder, name));
      await this.sync();
    } catch (error) {
      await rm(partial, { force: true });
      throw error;
    }
    await this.tidy();
  }

  async drop(name: string): Promise<void> {
    await rm(join(this.folder, name), { force: true });
  }

  private async fill(path: string, pieces: Iterable<string>): Promise<void> {
    const file = await open(path, 'wx', 0o600);
    try {
      for (const piece of pieces) await file.writeFile(piece);
      await file.sync();
    } finally {
      await file.close();
    }
  }

  /** The name itself must outlast a power cut. */
  private async sync(): Promise<void> {
    const folder = await open(this.folder);
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  }

  private async tidy(): Promise<void> {
    for (const name of (await this.names()).slice(SNAPSHOTS_KEPT)) await this.drop(name);
    for (const name of await this.files()) if (PARTIAL.test(name) && (await this.isOld(name))) await this.drop(name);
  }

  private async isOld(name: string): Promise<boolean> {
    try {
      return (await stat(join(this.folder, name))).mtimeMs < this.ports.clock.now() - LEFT_BEHIND;
    } catch {
      return false;
    }
  }

  private async files(): Promise<string[]> {
    try {
      return await readdir(this.folder);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
      throw error;
    }
  }
}
