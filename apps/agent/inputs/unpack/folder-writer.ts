import { constants } from 'node:fs';
import { link, lstat, mkdir, open, symlink } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { formatBytes } from '#contracts';
import { errorCode } from '../../client/errors.js';
import { checkName, linkTrouble, shown } from './entry.js';
import type { Entry } from './entry.js';
import { refused, refusedEntry } from './refusal.js';

/** What may come out of an archive. `whose` ends the message of one that holds more. */
export interface UnpackLimits {
  readonly bytes: number;
  readonly whose: string;
  /** Files, links and folders, those too that are only named on the way to others. */
  readonly entries: number;
}

type Placed = Exclude<Entry, { kind: 'folder' | 'refused' }>;
type FileEntry = Extract<Entry, { kind: 'file' }>;

/** Never the bits that lend a file its owner's rights, nor a right to write for others; always the owner's own. */
const fileMode = (mode: number): number => (mode & 0o755) | 0o600;
const folderMode = (mode: number): number => (mode & 0o755) | 0o700;

const NEW_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/**
 * Puts entries into a folder, and nowhere else. Nothing that is there is ever replaced, opened or gone through unless it is a
 * folder in truth: so an earlier entry cannot change where a later one goes. Nobody else may write there meanwhile.
 */
export class FolderWriter {
  private bytes = 0;
  private made = 0;
  /** Paths found to be real folders, which they remain. */
  private readonly folders = new Set<string>();

  constructor(
    private readonly root: string,
    private readonly limits: UnpackLimits,
    /** Hears the bytes of all files so far. */
    private readonly written: (bytes: number) => void,
    private readonly signal: AbortSignal,
  ) {}

  /** Throws an `ExecutionFault` for what is not taken; what was put there before stays. */
  async put(entry: Entry): Promise<void> {
    this.signal.throwIfAborted();
    if (entry.kind === 'refused') throw refusedEntry(entry.name, entry.why);
    const parts = this.partsOf(entry.name);
    const last = parts.at(-1);
    if (entry.kind === 'folder') return this.folder(entry.name, parts, entry.mode);
    if (last === undefined) throw refusedEntry(entry.name, 'is named as the folder itself, and is none');
    const parent = parts.slice(0, -1);
    await this.folder(entry.name, parent);
    await this.place(entry, parent, join(this.root, ...parts));
  }

  private async place(entry: Placed, parent: readonly string[], path: string): Promise<void> {
    this.count();
    try {
      await this.make(entry, parent, path);
    } catch (error) {
      throw ofEntry(error, entry.name);
    }
  }

  private make(entry: Placed, parent: readonly string[], path: string): Promise<void> {
    switch (entry.kind) {
      case 'file':
        return this.file(entry, path);
      case 'link':
        return this.link(entry.name, parent, entry.target, path);
      case 'second-name':
        return this.secondName(entry.name, entry.of, path);
    }
  }

  private async file(entry: FileEntry, path: string): Promise<void> {
    this.room(entry.size);
    const file = await open(path, NEW_FILE, fileMode(entry.mode));
    try {
      for await (const chunk of entry.body()) {
        this.signal.throwIfAborted();
        this.room(chunk.length);
        await writeAll(file, chunk);
        this.bytes += chunk.length;
        this.written(this.bytes);
      }
      if (entry.modified && isPlausible(entry.modified)) await file.utimes(entry.modified, entry.modified);
    } finally {
      await file.close();
    }
  }

  private async link(name: string, parent: readonly string[], target: string, path: string): Promise<void> {
    const trouble = linkTrouble(parent, target);
    if (trouble !== undefined) throw refusedEntry(name, trouble);
    await symlink(target, path);
  }

  /** Another name for a file that is there: never for what a link leads to. */
  private async secondName(name: string, of: string, path: string): Promise<void> {
    const checked = checkName(of);
    if ('why' in checked) throw refusedEntry(name, `is a hard link to ${shown(of)}, which ${checked.why}`);
    let reached = this.root;
    for (const part of checked.parts.slice(0, -1)) {
      reached = join(reached, part);
      if (!(await this.isFolder(reached))) throw refusedEntry(name, NO_FILE);
    }
    const first = join(this.root, ...checked.parts);
    const found = await lstat(first).catch(() => undefined);
    if (!found?.isFile()) throw refusedEntry(name, NO_FILE);
    await link(first, path);
  }

  /** Sees to a folder and those above it, up to the root. */
  private async folder(name: string, parts: readonly string[], mode = 0o755): Promise<void> {
    let path = this.root;
    for (const [index, part] of parts.entries()) {
      path = join(path, part);
      if (this.folders.has(path)) continue;
      await this.oneFolder(name, path, folderMode(index === parts.length - 1 ? mode : 0o755));
    }
  }

  private async oneFolder(name: string, path: string, mode: number): Promise<void> {
    try {
      await mkdir(path, { mode });
      this.count();
      this.folders.add(path);
    } catch (error) {
      if (errorCode(error) !== 'EEXIST') throw ofEntry(error, name);
      if (!(await this.isFolder(path)))
        throw refusedEntry(name, 'wants a folder where the archive has put a file or a link');
    }
  }

  private async isFolder(path: string): Promise<boolean> {
    if (this.folders.has(path)) return true;
    const found = await lstat(path).catch(() => undefined);
    if (found?.isDirectory()) this.folders.add(path);
    return found?.isDirectory() === true;
  }

  private partsOf(name: string): readonly string[] {
    const checked = checkName(name);
    if ('why' in checked) throw refusedEntry(name, checked.why);
    return checked.parts;
  }

  private count(): void {
    this.made += 1;
    const { entries } = this.limits;
    if (this.made > entries) throw refused('archive-too-large', `it holds more than ${entries} files and folders`);
  }

  private room(bytes: number): void {
    const { bytes: most, whose } = this.limits;
    if (this.bytes + bytes > most)
      throw refused('archive-too-large', `it unpacks to more than ${formatBytes(most)}, ${whose}`);
  }
}

const NO_FILE = 'is a hard link to something that is no file of the archive before it';

const writeAll = async (file: FileHandle, chunk: Buffer): Promise<void> => {
  for (let done = 0; done < chunk.length;) done += (await file.write(chunk, done, chunk.length - done)).bytesWritten;
};

/** What the system says of a place is the entry's fault where it is about its name. */
const ofEntry = (error: unknown, name: string): unknown => {
  switch (errorCode(error)) {
    case 'EEXIST':
    case 'EISDIR':
      return refusedEntry(name, 'is there already: twice in the archive, or beside another input');
    case 'ENAMETOOLONG':
      return refusedEntry(name, 'has a name that is too long');
    case 'EINVAL':
    case 'EILSEQ':
      return refusedEntry(name, 'has a name that this file system does not take');
    default:
      return error;
  }
};

/** From 1970 to 2106: what every file system can keep. */
const isPlausible = (date: Date): boolean => date.getTime() >= 0 && date.getTime() < 2 ** 32 * 1000;
