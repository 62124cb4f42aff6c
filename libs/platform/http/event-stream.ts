import { Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Millis, Timers } from '#kernel';

const KEEP_ALIVE: Millis = 15_000;

export interface ServerSentEvent {
  readonly id?: string;
  readonly event: string;
  readonly data: unknown;
}

/** One answer of server-sent events. */
export class EventStream {
  private readonly raw: FastifyReply['raw'];

  /** `kind` is said in greeting, and tells streams apart where they are counted. */
  constructor(
    reply: FastifyReply,
    readonly kind: string,
  ) {
    reply.hijack();
    this.raw = reply.raw;
    // What hooks have set (the security headers) is not sent by itself once the answer is taken over.
    this.raw.writeHead(200, {
      ...definedHeaders(reply),
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      // Nothing follows a stream on its connection, which must not outlive it when the process stops.
      connection: 'close',
    });
    this.comment(kind);
  }

  get open(): boolean {
    return !this.raw.writableEnded && !this.raw.destroyed;
  }

  /** Resolves when the reader has room again, so that a slow one holds its source back and not the memory. */
  async send({ id, event, data }: ServerSentEvent): Promise<void> {
    const name = id === undefined ? '' : `id: ${id}\n`;
    if (!this.open || this.raw.write(`${name}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)) return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        this.raw.off('drain', done).off('close', done);
        resolve();
      };
      this.raw.on('drain', done).on('close', done);
    });
  }

  /** Sends a line that readers skip every so often, which keeps proxies from closing a quiet stream; ends with the stream. */
  keepAlive(timers: Timers): void {
    const timer = timers.every(KEEP_ALIVE, () => this.comment('alive'));
    this.onClose(() => timer.cancel());
  }

  /** Called once, when the reader left or the answer ended. */
  onClose(closed: () => void): void {
    if (this.raw.closed) closed();
    else this.raw.once('close', closed);
  }

  end(): void {
    if (this.open) this.raw.end();
  }

  private comment(text: string): void {
    if (this.open) this.raw.write(`: ${text}\n\n`);
  }
}

const definedHeaders = (reply: FastifyReply): Record<string, string | number | string[]> =>
  Object.fromEntries(
    Object.entries(reply.getHeaders()).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );

/** All streams that are open, so that an orderly stop can end them: their readers come back with the last id. */
@Injectable()
export class EventStreams {
  private readonly streams = new Set<EventStream>();
  private ended = false;

  open(reply: FastifyReply, kind: string): EventStream {
    const stream = new EventStream(reply, kind);
    this.streams.add(stream);
    stream.onClose(() => this.streams.delete(stream));
    if (this.ended) stream.end();
    return stream;
  }

  /** How many of each kind. */
  get counts(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const { kind } of this.streams) counts.set(kind, (counts.get(kind) ?? 0) + 1);
    return counts;
  }

  endAll(): void {
    this.ended = true;
    for (const stream of this.streams) stream.end();
  }
}
