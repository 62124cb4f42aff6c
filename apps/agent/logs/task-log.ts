import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { formatBytes } from '#contracts';
import { lastLines, readRange } from './read-range.js';

/** A file that holds the bytes of a stream from `begin` to `end`. */
interface Piece {
  readonly path: string;
  readonly begin: number;
  readonly end: number;
}

const NOTHING = new Uint8Array(0);
const HELD_BACK = '\n[log: its limit is reached; the newest part follows when the task has ended]\n';
const leftOut = (bytes: number): string => `[log: ${formatBytes(bytes)} (${bytes} bytes) are left out here]\n`;

/**
 * One output stream of a task as others get to read it, made from the files that its keeper left: the first part as it grows,
 * then, once the writer is done, what followed. Where something was dropped in between, lines of its own tell of it.
 *
 * Bytes have the same place at each reading, by another agent later as well: what is behind the first part is only
 * read when it does not change any more, and the line that says so follows from the files alone.
 */
export class TaskLog {
  private ended = false;
  private whole: readonly (Piece | Uint8Array)[] | undefined;

  constructor(private readonly file: string) {}

  /** Nothing more will be written. */
  end(): void {
    this.ended = true;
  }

  /** Up to `length` bytes from `offset`, fewer at a seam, none at the present end. */
  async read(offset: number, length: number): Promise<Uint8Array> {
    let begin = 0;
    for (const part of await this.parts()) {
      const size = part instanceof Uint8Array ? part.length : part.end - part.begin;
      const at = offset - begin;
      if (at < size) {
        const wanted = Math.min(length, size - at);
        return part instanceof Uint8Array ? part.subarray(at, at + wanted) : readRange(part.path, at, wanted);
      }
      begin += size;
    }
    return NOTHING;
  }

  private async parts(): Promise<readonly (Piece | Uint8Array)[]> {
    if (this.whole) return this.whole;
    const isLast = this.ended;
    const [first, ...newest] = await piecesOf(this.file);
    if (!first) return [];
    const dropped = newest[0] ? newest[0].begin - first.end : 0;
    const notes = dropped > 0 ? [HELD_BACK, ...(isLast ? [leftOut(dropped)] : [])] : [];
    const parts = [first, ...notes.map((note) => new TextEncoder().encode(note)), ...(isLast ? newest : [])];
    if (isLast) this.whole = parts;
    return parts;
  }
}

/** How many bytes a task has written so far, dropped or not. */
export const writtenEnd = async (file: string): Promise<number> => (await piecesOf(file)).at(-1)?.end ?? 0;

/** Up to `length` of the bytes that a task wrote, from `offset` or, where that was dropped, from the next that is there. */
export const readWritten = async (
  file: string,
  offset: number,
  length: number,
): Promise<{ readonly begin: number; readonly bytes: Uint8Array }> => {
  const piece = (await piecesOf(file)).find(({ end }) => end > offset);
  if (!piece) return { begin: offset, bytes: NOTHING };
  const begin = Math.max(offset, piece.begin);
  return { begin, bytes: await readRange(piece.path, begin - piece.begin, length) };
};

/** The newest lines of a stream after its first `from` bytes, at most `lines` of them and 4 KiB in all. */
export const newestLines = async (file: string, lines: number, from = 0): Promise<string[]> => {
  const last = (await piecesOf(file)).findLast(({ begin, end }) => end > begin);
  return last ? lastLines(last.path, lines, Math.max(0, from - last.begin)) : [];
};

/** What is on disk of a stream, in order; the first part first. */
const piecesOf = async (file: string): Promise<Piece[]> => {
  const name = basename(file);
  const names = await readdir(dirname(file)).catch(() => []);
  const begins = names.flatMap((each) => (each.startsWith(`${name}.`) ? Number(each.slice(name.length + 1)) : []));
  const pieces = [0, ...begins.filter(Number.isSafeInteger).sort((a, b) => a - b)].map(async (begin) => {
    const path = begin === 0 ? file : join(dirname(file), `${name}.${begin}`);
    const size = await stat(path).then(
      (found) => found.size,
      () => undefined,
    );
    return size === undefined ? [] : [{ path, begin, end: begin + size }];
  });
  return (await Promise.all(pieces)).flat();
};
