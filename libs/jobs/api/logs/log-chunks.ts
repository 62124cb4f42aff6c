import type { LogStore } from '#artifacts';
import { CHUNK } from './log-text.js';
import type { LogPart } from './log-text.js';

/**
 * A piece of one stream; `offset` and `next` count bytes of all that the task wrote. One that is empty says where a stream
 * is taken up or, with `leftOut`, that nobody kept these bytes.
 */
export interface LogChunk {
  readonly executionId: string;
  readonly stream: string;
  readonly offset: number;
  readonly next: number;
  readonly text: string;
  /** How many bytes are missing from `offset` to `next`. */
  readonly leftOut?: number;
}

/** What there is of a stream from a byte to its present end, cut between characters. */
export async function* chunksOf(logs: LogStore, part: LogPart): AsyncGenerator<LogChunk> {
  const { executionId, stream } = part;
  for (let at = part.offset; ;) {
    const { begin, bytes, broken } = await logs.read(executionId, stream, at, CHUNK);
    if (begin > at) yield { executionId, stream, offset: at, next: begin, text: '', leftOut: begin - at };
    // A character that a gap cut in two gets no end any more.
    const whole = broken ? bytes : wholeCharacters(bytes);
    at = begin + whole.length;
    if (whole.length === 0) return;
    yield { executionId, stream, offset: begin, next: at, text: whole.toString('utf8') };
  }
}

/** Cuts before a UTF-8 character whose end has not come yet. */
const wholeCharacters = (bytes: Buffer): Buffer => {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return needed > back ? bytes.subarray(0, bytes.length - back) : bytes;
  }
  return bytes;
};
