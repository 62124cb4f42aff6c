import tar from 'tar-stream';
import type { Entry } from './entry.js';
import { refused } from './refusal.js';

const BLOCK = 512;
/** Bytes without an entry or content: padding and long headers are far shorter. */
const SLACK = 16 * 1024 * 1024;

const WITHOUT_CONTENT: Readonly<Record<string, string>> = {
  'character-device': 'is a device',
  'block-device': 'is a device',
  fifo: 'is a pipe',
};

/** Whether a first block is one of a tar file: it says so, or it ends a file that holds nothing. */
export const isTar = (block: Buffer): boolean =>
  block.length >= BLOCK &&
  (block.toString('latin1', 257, 262) === 'ustar' || block.subarray(0, BLOCK).every((byte) => byte === 0));

/**
 * The entries of a tar file that arrives in `source`, in its order. A file's content has to be taken or let be before the next
 * entry is asked for. What breaks off before the mark of its end is corrupt, also between two entries.
 */
export async function* tarEntries(source: AsyncIterable<Buffer>): AsyncGenerator<Entry, void> {
  const feed = new Feed(source);
  const feeding = feed.run();
  try {
    for await (const one of feed.extract) {
      feed.passed(one);
      yield entryOf(one.header, one as AsyncIterable<unknown> as AsyncIterable<Buffer>);
      one.resume();
    }
    if (feed.beyond < BLOCK) throw refused('archive-corrupt', 'it breaks off before its end');
  } finally {
    feed.extract.destroy();
    await feeding;
  }
}

const entryOf = (header: tar.Header, content: AsyncIterable<Buffer>): Entry => {
  const { name, size, mode } = header;
  // The library knows no such kind as null, but gives it to those that it does not know.
  const type = header.type as tar.Header['type'] | null;
  const linkname = header.linkname as string | null;
  const pax = (header.pax ?? {}) as Readonly<Record<string, string>>;
  if (Object.keys(pax).some((key) => key.startsWith('GNU.sparse.')))
    return { kind: 'refused', name: pax['GNU.sparse.name'] ?? name, why: 'is stored as a sparse file' };
  if (type === 'file' || type === 'contiguous-file') {
    if (!Number.isSafeInteger(size)) return { kind: 'refused', name, why: 'has a size that makes no sense' };
    // So the oldest tar files name folders.
    if (name.endsWith('/') && size === 0) return { kind: 'folder', name, mode };
    if (name.endsWith('/')) return { kind: 'refused', name, why: 'has content and the name of a folder' };
    return { kind: 'file', name, mode, size, modified: header.mtime, body: () => content };
  }
  if (type === 'directory') return { kind: 'folder', name, mode };
  if (size > 0) return { kind: 'refused', name, why: `has content and is no file (${type ?? 'of an unknown kind'})` };
  if (type === 'symlink') return { kind: 'link', name, target: linkname ?? '' };
  if (type === 'link') return { kind: 'second-name', name, of: linkname ?? '' };
  return { kind: 'refused', name, why: WITHOUT_CONTENT[type ?? ''] ?? 'is of an unknown kind' };
};

/**
 * Hands a source to the parser as fast as it takes it, until either ends. What goes wrong with the source is the parser's
 * error, so that whoever reads from it hears of it.
 */
class Feed {
  readonly extract = tar.extract();
  private total = 0;
  /** Where the newest entry ends, its padding included. */
  private end = 0;

  constructor(private readonly source: AsyncIterable<Buffer>) {}

  /** Bytes that came after the newest entry. */
  get beyond(): number {
    return this.total - this.end;
  }

  /** `offset` is where its header begins. */
  passed({ offset, header: { size, type } }: { readonly offset: number; readonly header: tar.Header }): void {
    this.end = offset + BLOCK + (type === 'directory' ? 0 : Math.ceil(size / BLOCK) * BLOCK);
  }

  /** Never rejects. */
  async run(): Promise<void> {
    try {
      await this.feed();
      this.extract.end(null);
    } catch (error) {
      this.extract.destroy(error as Error);
    }
  }

  private async feed(): Promise<void> {
    for await (const chunk of begunAsTar(this.source)) {
      if (this.extract.destroyed) return;
      this.total += chunk.length;
      if (!this.extract.write(chunk)) await this.drained();
      if (this.beyond > SLACK) throw refused('archive-corrupt', 'it goes on without an entry');
    }
  }

  private drained(): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        this.extract.off('drain', done).off('close', done);
        resolve();
      };
      this.extract.on('drain', done).on('close', done);
    });
  }
}

/** The source as it is, when its first block is one of a tar file. */
async function* begunAsTar(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
  let begin: Buffer | undefined = Buffer.alloc(0);
  for await (const chunk of source) {
    if (begin === undefined) yield chunk;
    else {
      begin = Buffer.concat([begin, chunk]);
      if (begin.length < BLOCK) continue;
      if (!isTar(begin)) throw notTar();
      yield begin;
      begin = undefined;
    }
  }
  if (begin !== undefined) throw notTar();
}

const notTar = () => refused('archive-format', 'what is compressed in it is no tar file');
