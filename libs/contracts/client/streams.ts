import type { Timers } from '#kernel';
import { ServerUnreachable } from './http.js';
import { pause } from './pause.js';
import { linesOf, serverSentEvents } from './server-sent-events.js';
import type { AuditMessage, LogLine, Page, RawEvent } from './views.js';

/** Milliseconds between a lost connection and the next try. */
const RECONNECT_AFTER = 1_000;

const isStream = (response: Response): boolean =>
  response.headers.get('content-type')?.startsWith('text/event-stream') === true;

const emptyBody = (): ReadableStream<Uint8Array> => new Blob([]).stream();

/** A piece of one stream of one execution, as it grew: it may begin and end inside a line. */
type Piece = LogLine;

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
  *add({ text, executionId, stream }: Piece): Generator<LogLine> {
    const key = `${executionId ?? ''} ${stream ?? ''}`;
    const origin = { ...(executionId !== undefined && { executionId }), ...(stream !== undefined && { stream }) };
    const entry = this.unfinished.get(key) ?? { origin, text: '' };
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

/** The lines of a log, from plain text or from server-sent events that end with one named `end`. */
export async function* logLines(response: Response): AsyncGenerator<LogLine> {
  const body = response.body ?? emptyBody();
  if (!isStream(response)) {
    for await (const text of linesOf(body)) yield { text };
    return;
  }
  const lines = new Lines();
  for await (const { event, data } of serverSentEvents(body)) {
    if (event === 'end') break;
    yield* lines.add(pieceOf(data));
  }
  yield* lines.rest();
}

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
async function* untilBroken(response: Response, signal: AbortSignal | undefined): AsyncGenerator<RawEvent> {
  try {
    for await (const { data } of serverSentEvents(response.body ?? emptyBody())) yield JSON.parse(data) as RawEvent;
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
    for await (const event of response ? untilBroken(response, signal) : []) {
      yield event;
      last = event.position;
    }
    await pause(timers, RECONNECT_AFTER, signal);
  }
}
