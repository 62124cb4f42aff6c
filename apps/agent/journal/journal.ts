import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { flushFolder } from '../flush-folder.js';
import type { JournalEntry } from './entry.js';

/**
 * One JSON file per execution, replaced as a whole (written beside, flushed, renamed, folder flushed), so that a crash at
 * any moment leaves either the entry before or the entry after.
 */
export class Journal {
  private readonly writing = new Map<string, Promise<void>>();

  private constructor(private readonly folder: string) {}

  static async open(data: string): Promise<Journal> {
    const folder = join(data, 'journal');
    await mkdir(folder, { recursive: true, mode: 0o700 });
    return new Journal(folder);
  }

  /** Every entry that can be read; names of files that cannot are given to `unreadable`, which stay for a person to see. */
  async entries(unreadable: (file: string) => void): Promise<JournalEntry[]> {
    const entries: JournalEntry[] = [];
    for (const file of (await readdir(this.folder)).sort()) {
      if (file.endsWith('.tmp')) await rm(join(this.folder, file), { force: true });
      if (!file.endsWith('.json')) continue;
      const entry = parseEntry(await readFile(join(this.folder, file), 'utf8'));
      if (entry) entries.push(entry);
      else {
        unreadable(file);
        await rename(join(this.folder, file), join(this.folder, `${file}.unreadable`));
      }
    }
    return entries;
  }

  save(entry: JournalEntry): Promise<void> {
    return this.inTurn(entry.assignment.executionId, () => this.replace(entry));
  }

  remove(executionId: string): Promise<void> {
    return this.inTurn(executionId, () => rm(this.path(executionId), { force: true }));
  }

  private path(executionId: string): string {
    return join(this.folder, `${executionId}.json`);
  }

  private async inTurn(executionId: string, act: () => Promise<void>): Promise<void> {
    const turn = (this.writing.get(executionId) ?? Promise.resolve()).then(act, act);
    this.writing.set(executionId, turn);
    try {
      await turn;
    } finally {
      if (this.writing.get(executionId) === turn) this.writing.delete(executionId);
    }
  }

  private async replace(entry: JournalEntry): Promise<void> {
    const path = this.path(entry.assignment.executionId);
    const file = await open(`${path}.tmp`, 'w', 0o600);
    try {
      await file.writeFile(JSON.stringify(entry));
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(`${path}.tmp`, path);
    await flushFolder(this.folder);
  }
}

/** A later agent may write another shape; an older one must not act on it. */
const VERSIONS: readonly unknown[] = [1, 2, 3];

const parseEntry = (text: string): JournalEntry | undefined => {
  try {
    const entry = JSON.parse(text) as JournalEntry & { readonly version: unknown };
    return VERSIONS.includes(entry.version) && typeof entry.assignment.executionId === 'string' ? entry : undefined;
  } catch {
    return undefined;
  }
};
