import type { LogRange, LogStore } from '#artifacts';
import { leftOutLine } from '#contracts';

export const LOG_STREAMS: readonly string[] = ['stdout', 'stderr'];

/** Bytes that are read at once. */
export const CHUNK = 64 * 1024;

/** One stream of one execution, from a byte on. */
export interface LogPart {
  readonly executionId: string;
  readonly stream: string;
  readonly offset: number;
}

/** Where the last lines of a stream begin, and how many there are (fewer when the stream has no more). */
export interface Tail {
  readonly offset: number;
  readonly lines: number;
}

const NEWLINE = 0x0a;

/**
 * Looks for the last `count` lines from the end, chunk by chunk; what has no end of line at the very end is a line too. Where
 * something was left out, a line ends and another one begins.
 */
export const tailOf = async (logs: LogStore, executionId: string, stream: string, count: number): Promise<Tail> => {
  const ranges = await logs.ranges(executionId, stream);
  if (count === 0) return { offset: ranges.at(-1)?.end ?? 0, lines: 0 };
  let lines = 0;
  for (const range of ranges.toReversed()) {
    const tail = await tailOfRange(logs, { executionId, stream, range }, count - lines);
    lines += tail.lines;
    if (lines === count) return { offset: tail.offset, lines };
  }
  return { offset: 0, lines };
};

const tailOfRange = async (
  logs: LogStore,
  { executionId, stream, range }: { readonly executionId: string; readonly stream: string; readonly range: LogRange },
  count: number,
): Promise<Tail> => {
  let lines = 0;
  for (let end = range.end; end > range.begin;) {
    const begin = Math.max(range.begin, end - CHUNK);
    const { bytes, ...read } = await logs.read(executionId, stream, begin, end - begin);
    // Left out since the ranges were looked at: the rest of this one begins later.
    if (read.begin !== begin) break;
    for (let at = bytes.length - 1; at >= 0; at -= 1) {
      // The end of the last line ends no line before it.
      const endsOne = bytes[at] === NEWLINE && begin + at < range.end - 1;
      if (endsOne && (lines += 1) === count) return { offset: begin + at + 1, lines };
    }
    end = begin;
  }
  return { offset: range.begin, lines: range.end === range.begin ? 0 : lines + 1 };
};

/** The parts in which the last `count` lines of all of these streams lie, taken one after the other. */
export const tailParts = async (
  logs: LogStore,
  streams: readonly Omit<LogPart, 'offset'>[],
  count: number,
): Promise<LogPart[]> => {
  const parts: LogPart[] = [];
  let left = count;
  for (const { executionId, stream } of streams.toReversed()) {
    if (left === 0) break;
    const { offset, lines } = await tailOf(logs, executionId, stream, left);
    parts.unshift({ executionId, stream, offset });
    left -= lines;
  }
  return parts;
};

/** The bytes of the parts as they are now, one part after the other; a line of its own tells what was left out. */
export async function* bytesOf(logs: LogStore, parts: readonly LogPart[]): AsyncGenerator<Buffer> {
  for (const { executionId, stream, offset } of parts) {
    const end = await logs.end(executionId, stream);
    let endsLine = true;
    for (let at = offset; at < end;) {
      const { begin, bytes } = await logs.read(executionId, stream, at, Math.min(CHUNK, end - at));
      if (begin > at) yield Buffer.from(`${endsLine ? '' : '\n'}${leftOutLine(begin - at)}\n`);
      if (bytes.length > 0) yield bytes;
      else if (begin === at) break;
      endsLine = bytes.length === 0 || bytes.at(-1) === NEWLINE;
      at = begin + bytes.length;
    }
  }
}
