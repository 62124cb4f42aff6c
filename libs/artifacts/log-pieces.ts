import { open, readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** A file that holds the bytes of a stream from `begin` to `end`. */
export interface LogPiece {
  readonly path: string;
  readonly begin: number;
  readonly end: number;
}

/** Bytes of a stream that are there, by their place in all that was written. */
export interface LogRange {
  readonly begin: number;
  readonly end: number;
}

/** What was read from `begin` on. */
export interface LogBytes {
  /** Behind the offset that was asked for when the bytes there were left out. */
  readonly begin: number;
  readonly bytes: Buffer;
  /** What follows directly was left out, so these bytes will never be continued. */
  readonly broken: boolean;
}

/** Where the piece of a stream is that begins at this byte: the first in the file itself, later ones beside it. */
export const piecePath = (file: string, begin: number): string => (begin === 0 ? file : `${file}.${String(begin)}`);

/** What is there of a stream, in order. One that others remove meanwhile is passed over. */
export const piecesOf = async (file: string): Promise<readonly LogPiece[]> => {
  const pieces = await listed(file);
  const ranges = rangesOf(pieces);
  // A folder that changes while it is listed may hide a file: what seems to be missing is looked for once more.
  return ranges.length > 1 || (ranges[0]?.begin ?? 0) > 0 ? listed(file) : pieces;
};

const listed = async (file: string): Promise<readonly LogPiece[]> => {
  const name = basename(file);
  const names = await readdir(dirname(file)).catch(absent([]));
  const begins = names.flatMap((each) => beginOf(name, each)).toSorted((left, right) => left - right);
  const pieces = begins.map(async (begin) => {
    const path = join(dirname(file), piecePath(name, begin));
    const found = await stat(path).catch(absent(undefined));
    return found ? [{ path, begin, end: begin + found.size }] : [];
  });
  return (await Promise.all(pieces)).flat();
};

const beginOf = (name: string, each: string): number[] => {
  if (each === name) return [0];
  const begin = each.startsWith(`${name}.`) ? each.slice(name.length + 1) : '';
  return /^\d{1,15}$/.test(begin) ? [Number(begin)] : [];
};

/** What lies together, made one. */
export const rangesOf = (pieces: readonly LogPiece[]): readonly LogRange[] => {
  const ranges: LogRange[] = [];
  for (const { begin, end } of pieces) {
    const last = ranges.at(-1);
    if (last && begin <= last.end) ranges[ranges.length - 1] = { begin: last.begin, end: Math.max(last.end, end) };
    else ranges.push({ begin, end });
  }
  return ranges;
};

/** At most `length` bytes from `offset` or, where that was left out, from the next that is there; never over a gap. */
export const readPieces = async (file: string, offset: number, length: number): Promise<LogBytes> => {
  const pieces = await piecesOf(file);
  const range = rangesOf(pieces).find(({ end }) => end > offset);
  // A gap may have been told with nothing behind it yet.
  const begin = Math.max(offset, range?.begin ?? pieces.at(-1)?.end ?? 0);
  const parts: Buffer[] = [];
  let at = begin;
  for (const piece of pieces) {
    const wanted = Math.min(piece.end, begin + length) - at;
    if (piece.begin > at || wanted <= 0) continue;
    const bytes = await readFrom(piece.path, at - piece.begin, wanted);
    // It was removed since the listing, and what is before it too.
    if (bytes === undefined) return parts.length === 0 ? readPieces(file, offset, length) : result(begin, parts, false);
    parts.push(bytes);
    at += bytes.length;
  }
  return result(begin, parts, at === range?.end && pieces.some((piece) => piece.begin > at));
};

const result = (begin: number, parts: readonly Buffer[], broken: boolean): LogBytes => ({
  begin,
  bytes: parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts),
  broken,
});

const readFrom = async (path: string, offset: number, length: number): Promise<Buffer | undefined> => {
  const file = await open(path, 'r').catch(absent(undefined));
  if (!file) return undefined;
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, offset);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
};

const absent =
  <Value>(value: Value) =>
  (error: unknown): Value => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return value;
    throw error;
  };
