import { appendFile, mkdir, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { piecePath, piecesOf, rangesOf, readPieces } from './log-pieces.js';
import type { LogBytes, LogPiece, LogRange } from './log-pieces.js';

/** Bytes were sent from behind the end of what is there, and nobody said that those before them were left out. */
export class LogOffsetGap extends Error {
  override readonly name = 'LogOffsetGap';
  constructor(readonly expected: number) {
    super(`the log goes on at byte ${String(expected)}`);
  }
}

/** More bytes at once than are taken. */
export class LogChunkTooLarge extends Error {
  override readonly name = 'LogChunkTooLarge';
  constructor(readonly largest: number) {
    super(`a chunk of a log has ${String(largest)} bytes at most`);
  }
}

export interface LogLimits {
  /** Bytes that are kept of one stream at most. */
  readonly stream: number;
  /** Bytes of one chunk at most: a quarter of `stream`, or less. */
  readonly chunk: number;
}

/** A chunk as it was sent. */
export interface SentChunk {
  /** Where it begins in all that the task wrote to the stream. */
  readonly offset: number;
  /** How many bytes right before `offset` the sender has left out, and will never send. */
  readonly gap?: number;
  readonly bytes: Uint8Array;
}

const MIB = 2 ** 20;
const DEFAULT_LIMITS: LogLimits = { stream: 64 * MIB, chunk: MIB };
/** The newest part is in pieces of at least an eighth of the limit, unless gaps cut it smaller. */
const PIECES = 8;
/** However many gaps there are. */
const MOST_PIECES = 64;

/**
 * What tasks wrote, a few files for each execution and stream. Logs are telemetry: a write is handed to the operating
 * system and not forced to disk, so a power cut may cost the last lines, which the agent then sends again.
 *
 * A stream may go on for years, so of each no more than its limit is kept: the first half of it as the first part, in a file
 * that is never touched again, and the newest part in pieces beside it, of which the oldest go. Bytes keep their place in all
 * that was written, so what is missing between two pieces was left out: by the sender, who said so, or here.
 *
 * Nothing is remembered between two calls: several processes may share the folder, and a restart changes nothing.
 */
export class LogStore {
  private readonly writes = new Map<string, Promise<unknown>>();
  private readonly listeners = new Map<string, Set<() => void>>();

  constructor(
    private readonly root: string,
    readonly limits: LogLimits = DEFAULT_LIMITS,
  ) {}

  /**
   * Puts bytes at their offset and answers the next one. Bytes that are there already are accepted once. A gap that was not
   * told, or is larger than told, throws `LogOffsetGap` with the offset that is wanted; too much at once, `LogChunkTooLarge`.
   */
  append(executionId: string, stream: string, chunk: SentChunk): Promise<number> {
    const path = this.place(executionId, stream);
    const before = this.writes.get(path) ?? Promise.resolve();
    const write = before.then(async () => {
      const next = await this.write(path, chunk);
      this.tell(executionId);
      return next;
    });
    const settled = write
      .catch(() => undefined)
      .then(() => {
        if (this.writes.get(path) === settled) this.writes.delete(path);
      });
    this.writes.set(path, settled);
    return write;
  }

  /** How many bytes were written so far, left out or not. */
  async end(executionId: string, stream: string): Promise<number> {
    return (await piecesOf(this.place(executionId, stream))).at(-1)?.end ?? 0;
  }

  /** What is there, in order; between two ranges bytes were left out. */
  async ranges(executionId: string, stream: string): Promise<readonly LogRange[]> {
    return rangesOf(await piecesOf(this.place(executionId, stream)));
  }

  /** At most `length` bytes from `offset` or, where that was left out, from the next that is there; never over a gap. */
  read(executionId: string, stream: string, offset: number, length: number): Promise<LogBytes> {
    return readPieces(this.place(executionId, stream), offset, length);
  }

  /** Hears when something was added to an execution's logs; the answer ends that. */
  listen(executionId: string, listener: () => void): () => void {
    const listeners = this.listeners.get(executionId) ?? new Set();
    this.listeners.set(executionId, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) this.listeners.delete(executionId);
    };
  }

  private async write(file: string, { offset, gap = 0, bytes }: SentChunk): Promise<number> {
    if (bytes.length > this.limits.chunk) throw new LogChunkTooLarge(this.limits.chunk);
    const pieces = await piecesOf(file);
    const end = pieces.at(-1)?.end ?? 0;
    if (offset - gap > end) throw new LogOffsetGap(end);
    const at = Math.max(offset, end);
    const fresh = bytes.subarray(at - offset);
    if (fresh.length === 0 && at === end) return end;
    await mkdir(dirname(file), { recursive: true });
    const first = at === end && pieces.every(({ begin }) => begin === 0) ? this.ofFirstPart(at, fresh) : 0;
    if (first > 0) await appendFile(file, fresh.subarray(0, first));
    if (first < fresh.length || at > end) await this.addNewest(file, pieces, at + first, fresh.subarray(first));
    return at + fresh.length;
  }

  /** How many of the bytes belong to the first part. */
  private ofFirstPart(at: number, bytes: Uint8Array): number {
    return Math.max(0, Math.min(bytes.length, Math.floor(this.limits.stream / 2) - at));
  }

  private async addNewest(file: string, pieces: readonly LogPiece[], at: number, bytes: Uint8Array): Promise<void> {
    const newest = pieces.filter(({ begin }) => begin > 0);
    const last = newest.at(-1);
    const grows = last?.end === at && at - last.begin < this.limits.stream / PIECES;
    await this.makeRoom(newest, bytes.length, grows ? MOST_PIECES : MOST_PIECES - 1);
    await appendFile(grows ? last.path : piecePath(file, at), bytes);
  }

  /** Removes the oldest of the newest part until there is room for so many bytes more. */
  private async makeRoom(newest: readonly LogPiece[], bytes: number, most: number): Promise<void> {
    const room = Math.ceil(this.limits.stream / 2) - bytes;
    let held = newest.reduce((sum, { begin, end }) => sum + end - begin, 0);
    let left = newest.length;
    for (const { path, begin, end } of newest) {
      if (held <= room && left <= most) return;
      await unlink(path).catch(ignoreAbsent);
      held -= end - begin;
      left -= 1;
    }
  }

  private tell(executionId: string): void {
    for (const listener of this.listeners.get(executionId) ?? []) listener();
  }

  /** Ids and streams come checked; this keeps a mistake from leaving the folder. */
  private place(executionId: string, stream: string): string {
    const safe = (name: string): string => name.replace(/[^\w.-]/g, '_').replace(/^\.+/, '_');
    return join(this.root, safe(executionId), `${safe(stream)}.log`);
  }
}

/** Another process was quicker. */
const ignoreAbsent = (error: unknown): void => {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
};
