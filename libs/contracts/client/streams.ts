import { pause } from '#kernel';
import type { Timers } from '#kernel';
import { leftOutLine } from '../units.js';
import { ProblemError, ServerUnreachable } from './http.js';
import { linesOf, serverSentEvents } from './server-sent-events.js';
import type { ServerSentEvent } from './server-sent-events.js';
import type { AuditMessage, LogLine, Page, RawEvent } from './views.js';

/** Milliseconds between a lost connection and the next try. */
const RECONNECT_AFTER = 1_000;

const isStream = (response: Response): boolean =>
  response.headers.get('content-type')?.startsWith('text/event-stream') === true;

const emptyBody = (): ReadableStream<Uint8Array> => new Blob([]).stream();

/** A piece of one stream of one execution, as it grew: it may begin and end inside a line. Bytes are counted. */
interface Piece extends LogLine {
  readonly offset?: number;
  readonly next?: number;
}

const pieceOf = (data: string): Piece => {
  try {
    const value: unknown = JSON.parse(data);
    if (typeof value === 'object' && value !== null && 'text' in value) return value as Piece;
  } catch {
    // Not ours: text as it is.
  }
  return { text: `${data}\n` };
};

interface Unfinished {
  readonly origin: Omit<LogLine, 'text'>;
  text: string;
}

/** Makes whole lines of the pieces of several streams that come in turn. */
class Lines {
  private readonly unfinished = new Map<string, Unfinished>();

  /** The lines that the piece completes. */
  *add({ text, executionId, stream, leftOut = 0 }: Piece): Generator<LogLine> {
    const key = `${executionId ?? ''} ${stream ?? ''}`;
    const origin = { ...(executionId !== undefined && { executionId }), ...(stream !== undefined && { stream }) };
    const entry = this.unfinished.get(key) ?? { origin, text: '' };
    if (leftOut > 0) {
      // The line before the gap gets no end any more.
      if (entry.text !== '') yield { text: entry.text, ...origin };
      entry.text = '';
      yield { text: leftOutLine(leftOut), ...origin, leftOut };
    }
    const lines = (entry.text + text).split('\n');
    entry.text = lines.pop() ?? '';
    this.unfinished.set(key, entry);
    for (const line of lines) yield { text: line.replace(/\r$/, ''), ...origin };
  }

  /** What never got its end of line. */
  *rest(): Generator<LogLine> {
    for (const { origin, text } of this.unfinished.values()) if (text !== '') yield { text, ...origin };
  }
}

/** The lines of a log that is plain text. */
async function* plainLines(response: Response): AsyncGenerator<LogLine> {
  for await (const text of linesOf(response.body ?? emptyBody())) yield { text };
}

/** What was read of each stream, so that a piece that is sent again is told once. */
class Seen {
  private readonly next = new Map<string, number>();

  /** The part of the piece that is new. */
  fresh(piece: Piece): Piece {
    const { leftOut, ...told } = piece;
    const { executionId = '', stream = '', offset, next, text } = told;
    if (offset === undefined || next === undefined) return piece;
    const key = `${executionId} ${stream}`;
    const known = this.next.get(key) ?? 0;
    this.next.set(key, Math.max(known, next));
    if (known <= offset) return piece;
    if (known >= next) return { ...told, text: '' };
    if (leftOut !== undefined) return { ...told, leftOut: next - known };
    const bytes = new TextEncoder().encode(text);
    // Other lengths: the log holds bytes that are no text, so the place is found only about.
    return { ...told, text: new TextDecoder().decode(bytes.subarray(known - offset)) };
  }
}

export interface LogRequest {
  /** Only the last lines. */
  readonly tail: number | undefined;
  readonly follow: boolean;
  /** The id of the last event that was read. */
  readonly after?: string | undefined;
}

/**
 * The lines of a log. *Reading* ends with the text, or with the `end` of its events. *Following* holds a stream open until the
 * server says `end`; when the connection breaks before, it is asked for again a second later and goes on where it was, over a
 * restart of the server as well. It ends early when the signal is aborted, the reader leaves, or the server refuses.
 */
export async function* logLines(
  open: (request: LogRequest) => Promise<Response>,
  timers: Timers,
  { tail, follow, signal }: LogRequest & { readonly signal: AbortSignal | undefined },
): AsyncGenerator<LogLine> {
  const lines = new Lines();
  const seen = new Seen();
  let response: Response | undefined = await open({ tail, follow });
  if (!isStream(response)) {
    yield* plainLines(response);
    return;
  }
  let after: string | undefined;
  for (;;) {
    for await (const { id, event, data } of response ? untilBroken(response, signal) : []) {
      if (event === 'end') {
        yield* lines.rest();
        return;
      }
      yield* lines.add(seen.fresh(pieceOf(data)));
      after = id ?? after;
    }
    if (!follow) throw new ServerUnreachable('the logs broke off before their end');
    await pause(timers, RECONNECT_AFTER, signal);
    signal?.throwIfAborted();
    response = await open({ tail: undefined, follow, after }).catch(nothingForNow);
  }
}

/** A server that is away or starts is asked again. */
const nothingForNow = (error: unknown): undefined => {
  if (error instanceof ServerUnreachable || (error instanceof ProblemError && error.retryable)) return undefined;
  throw error;
};

/** What a derivation tells, from server-sent events. Throws when the answer breaks off before its `end`. */
export async function* auditMessages<Found, Summary>(response: Response): AsyncGenerator<AuditMessage<Found, Summary>> {
  for await (const { event, data } of serverSentEvents(response.body ?? emptyBody())) {
    const value = JSON.parse(data) as unknown;
    if (event === 'progress') yield { kind: 'progress', ...(value as { fraction: number; decisions: number }) };
    else if (event !== 'end') yield { kind: 'found', found: value as Found };
    else {
      yield { kind: 'end', summary: value as Summary };
      return;
    }
  }
  throw new ServerUnreachable('the answer broke off before its end');
}

export interface Following {
  readonly from: string | undefined;
  readonly follow: boolean;
  readonly signal: AbortSignal | undefined;
}

/** The messages until the connection ends; a break is an end, for the caller asks again from the last one seen. */
async function* untilBroken(response: Response, signal: AbortSignal | undefined): AsyncGenerator<ServerSentEvent> {
  try {
    yield* serverSentEvents(response.body ?? emptyBody());
  } catch (error) {
    // What fetch throws for a body that breaks off.
    if ((error as Error).name !== 'TypeError' && signal?.aborted !== true) throw error;
  }
}

/**
 * Events after a position. Two modes. *Reading* takes pages until one is empty, then ends. *Following* holds a stream
 * open; it begins with the first connection, and when that ends or breaks, or none can be made, a new one is asked for a
 * second later from the last position seen, so nothing is missed or told twice. It ends only when the signal is aborted,
 * the reader leaves, or the server refuses.
 */
export async function* followEvents(
  open: (from: string | undefined, live: boolean) => Promise<Response>,
  timers: Timers,
  { from, follow, signal }: Following,
): AsyncGenerator<RawEvent> {
  let last = from;
  while (signal?.aborted !== true) {
    const response = await open(last, follow).catch((error: unknown) => {
      if (follow && error instanceof ServerUnreachable) return undefined;
      if (signal?.aborted === true) return undefined;
      throw error;
    });
    if (!follow) {
      const page = (await response?.json()) as Page<RawEvent> | undefined;
      if (!page || page.items.length === 0) return;
      yield* page.items;
      last = page.items.at(-1)?.position ?? last;
      continue;
    }
    for await (const { data } of response ? untilBroken(response, signal) : []) {
      const event = JSON.parse(data) as RawEvent;
      yield event;
      last = event.position;
    }
    await pause(timers, RECONNECT_AFTER, signal);
  }
}
