import { EventStoreUnavailable, START } from '../port.js';
import { Answers } from './answers.js';
import { ConnectionClosed } from './connection.js';
import { explain, isFinal } from './explain.js';
import { Patience, within } from './patience.js';
import { allRequest, headRequest, streamRequest } from './requests.js';
import type { Millis, Random, Timers } from '#kernel';
import type { ReadReq } from '@eventstore/db-client/generated/streams_pb.js';
import type { EventFilter, Position, RecordedEvent } from '../port.js';
import type { Connection } from './connection.js';
import type { AnswerDecoder, ReadAnswer } from './records.js';
import type { StreamStart } from './requests.js';

export interface ReaderOptions {
  readonly timers: Timers;
  readonly random: Random;
  readonly timeout: Millis;
}

/** Events asked for at once: what is under way to a slow consumer is bounded by this and by the stream's own flow control. */
const PAGE = 1000;

/** A try on which nothing came for this share of the timeout is given up and repeated over a new connection. */
const TRIES_PER_TIMEOUT = 4;

/** A filtered page may have to look at much of the log before it finds its first event: it is given more time. */
const SCAN_FACTOR = 6;

/**
 * Reads in pages and goes on from the last event when a page breaks off. Rejects with `EventStoreUnavailable` when the
 * timeout has passed without an event.
 */
export class Reader {
  constructor(
    private readonly connection: Connection,
    private readonly decoder: AnswerDecoder,
    private readonly options: ReaderOptions,
  ) {}

  stream(name: string, from: bigint, limit = Infinity): AsyncIterable<RecordedEvent> {
    const request = (last: RecordedEvent | undefined, count: number): ReadReq =>
      streamRequest(name, { from: last ? last.revision + 1n : from }, count, false);
    return this.pages(request, limit, this.options.timeout);
  }

  streamBackwards(name: string, limit = Infinity): AsyncIterable<RecordedEvent> {
    const request = (last: RecordedEvent | undefined, count: number): ReadReq | undefined => {
      if (last?.revision === 0n) return undefined;
      const start: StreamStart = last ? { from: last.revision - 1n } : 'end';
      return streamRequest(name, start, count, true);
    };
    return this.pages(request, limit, this.options.timeout);
  }

  async *all(
    after: Position,
    upTo: Position | undefined,
    filter: EventFilter | undefined,
  ): AsyncIterable<RecordedEvent> {
    const request = (last: RecordedEvent | undefined, count: number): ReadReq =>
      allRequest(last?.position ?? after, filter, count);
    for await (const event of this.pages(request, Infinity, this.options.timeout * SCAN_FACTOR)) {
      // A read of the log includes the event at the position given.
      if (event.position <= after) continue;
      if (upTo !== undefined && event.position > upTo) return;
      yield event;
      if (event.position === upTo) return;
    }
  }

  async lastRevision(stream: string): Promise<'none' | bigint> {
    for await (const event of this.streamBackwards(stream, 1)) return event.revision;
    return 'none';
  }

  async head(): Promise<Position> {
    for await (const event of this.pages(headRequest, 1, this.options.timeout)) return event.position;
    return START;
  }

  /** As `head`, with one try: for who has a better use for a failure than to wait. */
  async headNow(): Promise<Position> {
    for await (const { event } of this.call(headRequest(), this.options.timeout / TRIES_PER_TIMEOUT)) {
      if (event) return event.position;
    }
    return START;
  }

  /** `request` makes the next page's request from the last event had; undefined when there can be none. */
  private async *pages(
    request: (last: RecordedEvent | undefined, count: number) => ReadReq | undefined,
    limit: number,
    timeout: Millis,
  ): AsyncIterable<RecordedEvent> {
    const patience = new Patience(this.options.timers, this.options.random, timeout);
    let last: RecordedEvent | undefined;
    let left = limit;
    try {
      while (left > 0) {
        const count = Math.min(PAGE, left);
        const page = request(last, count);
        if (!page) return;
        let received = 0;
        try {
          for await (const { event } of this.call(page, timeout / TRIES_PER_TIMEOUT)) {
            if (!event) continue;
            received += 1;
            // The first event of the next page of the log is the last of this one.
            if (last && event.position === last.position) continue;
            last = event;
            left -= 1;
            yield event;
          }
          if (received < count) return;
          patience.renew();
        } catch (error) {
          if (received > 0) patience.renew();
          await this.retryOrThrow(error, patience);
        }
      }
    } finally {
      patience.end();
    }
  }

  private async retryOrThrow(error: unknown, patience: Patience): Promise<void> {
    if (isFinal(error) || error instanceof ConnectionClosed) throw error;
    await patience.pause();
    if (!patience.exhausted) return;
    throw new EventStoreUnavailable(`the event store cannot be read: ${explain(error)}`, { cause: error });
  }

  /** One call, which fails after `silence` milliseconds without an answer. A consumer that is slow holds the server back; one that leaves cancels. */
  private async *call(request: ReadReq, silence: Millis): AsyncIterable<ReadAnswer> {
    const { timers } = this.options;
    const channel = await within(timers, silence, 'a connection', this.connection.channel());
    const call = channel.read(request);
    const answers = new Answers(call);
    try {
      for (;;) {
        const answer = answers.take();
        if (answer === 'ended') return;
        if (answer) yield this.decoder.decode(answer);
        else {
          await within(timers, silence, 'a read', answers.more());
          this.connection.answered();
        }
      }
    } catch (error) {
      channel.failed(error as Error);
      throw error;
    } finally {
      call.cancel();
    }
  }
}
