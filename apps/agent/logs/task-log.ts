import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { lastLines, readRange } from './read-range.js';

/** A file that holds the bytes of a stream from `begin` to `end`. */
interface Piece {
  readonly path: string;
  readonly begin: number;
  readonly end: number;
}

const NOTHING = new Uint8Array(0);
/** How often a piece is looked for that is gone when it is to be read. */
const TRIES = 5;
/** How many bytes a task has written so far, dropped or not. */
export const writtenEnd = async (file: string): Promise<number> => (await piecesOf(file)).at(-1)?.end ?? 0;

/** Up to `length` of the bytes that a task wrote, from `offset` or, where that was dropped, from the next that is there. */
export const readWritten = async (
  file: string,
  offset: number,
  length: number,
): Promise<{ readonly begin: number; readonly bytes: Uint8Array }> => {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const piece = (await wholePiecesOf(file)).find(({ end }) => end > offset);
    if (!piece) return { begin: offset, bytes: NOTHING };
    const begin = Math.max(offset, piece.begin);
    const bytes = await readRange(piece.path, begin - piece.begin, length);
    // None when its keeper has removed it since, which leaves newer ones.
    if (bytes.length > 0) return { begin, bytes };
  }
  return { begin: offset, bytes: NOTHING };
};

/** The newest lines of a stream after its first `from` bytes, at most `lines` of them and 4 KiB in all. */
export const newestLines = async (file: string, lines: number, from = 0): Promise<string[]> => {
  const last = (await piecesOf(file)).findLast(({ begin, end }) => end > begin);
  return last ? lastLines(last.path, lines, Math.max(0, from - last.begin)) : [];
};

/** A folder that changes while it is listed may hide a file: what seems to be dropped is looked for once more. */
const wholePiecesOf = async (file: string): Promise<Piece[]> => {
  const pieces = await piecesOf(file);
  const seamless = pieces.every(({ begin }, index) => begin === (pieces[index - 1]?.end ?? 0));
  return seamless ? pieces : piecesOf(file);
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
