import type { LogStore } from '#artifacts';

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

/** Looks for the last `count` lines from the end, chunk by chunk; what has no end of line at the very end is a line too. */
export const tailOf = async (logs: LogStore, executionId: string, stream: string, count: number): Promise<Tail> => {
  const size = await logs.size(executionId, stream);
  let lines = 0;
  for (let end = size; end > 0 && count > 0; end -= Math.min(CHUNK, end)) {
    const begin = Math.max(0, end - CHUNK);
    const bytes = await logs.read(executionId, stream, begin, end - begin);
    for (let at = bytes.length - 1; at >= 0; at -= 1) {
      // The end of the last line ends no line before it.
      const endsOne = bytes[at] === NEWLINE && begin + at < size - 1;
      if (endsOne && (lines += 1) === count) return { offset: begin + at + 1, lines };
    }
  }
  if (count === 0) return { offset: size, lines: 0 };
  return { offset: 0, lines: size === 0 ? 0 : lines + 1 };
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

/** The bytes of the parts as they are now, one part after the other. */
export async function* bytesOf(logs: LogStore, parts: readonly LogPart[]): AsyncGenerator<Buffer> {
  for (const { executionId, stream, offset } of parts) {
    const size = await logs.size(executionId, stream);
    for (let at = offset; at < size;) {
      const bytes = await logs.read(executionId, stream, at, Math.min(CHUNK, size - at));
      if (bytes.length === 0) break;
      yield bytes;
      at += bytes.length;
    }
  }
}
