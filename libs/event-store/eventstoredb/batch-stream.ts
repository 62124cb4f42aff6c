import { unknown } from './append-answers.js';
import { appendMessages } from './append-messages.js';
import { Stalled } from './patience.js';
import type { Timers } from '#kernel';
import type { ClientDuplexStream } from '@grpc/grpc-js';
import type { AppendAnswer, TryOutcome } from './append-answers.js';
import type { AppendRequest } from './append-messages.js';
import type { Channel, Connection } from './connection.js';

/**
 * Sends appends over one BatchAppend stream and matches the answers. Each stream has a table of its own, so what happens
 * to one connection touches no other, and an answer that comes after its append was given up is dropped.
 *
 * Two modes. *Closed*: the next append opens a stream. *Open* until the stream ends or fails; all that wait on it then
 * have an unknown outcome.
 */
export class BatchStream {
  private opening: Promise<OpenStream> | undefined;
  private sent = 0;

  constructor(
    private readonly connection: Connection,
    private readonly timers: Timers,
  ) {}

  /** Never rejects. Ends as `unknown` when no answer came within `limit` milliseconds. */
  async send(request: AppendRequest, limit: number): Promise<TryOutcome> {
    return new Promise((resolve) => {
      this.sent += 1;
      const correlationId = correlationIdOf(this.sent);
      let stream: OpenStream | undefined;
      let answersBefore = 0;
      let settled = false;
      const late = (): void => {
        const error = new Stalled('an append', limit);
        settle(unknown(error));
        stream?.waiting.delete(correlationId);
        // Slow is one thing; a stream on which nothing at all came is given up with all that wait on it.
        if (stream?.answers === answersBefore) stream.giveUp(error);
      };
      // It may be this process that stood still: answers that lie in the socket are read before anything is judged.
      let timer = this.timers.after(limit, () => (timer = this.timers.after(0, late)));
      const settle = (outcome: TryOutcome): void => {
        settled = true;
        timer.cancel();
        resolve(outcome);
      };
      this.open().then(
        (opened) => {
          if (settled) return;
          stream = opened;
          answersBefore = stream.answers;
          stream.waiting.set(correlationId, settle);
          // Appends in flight are bounded in number and size, so what the socket does not take yet is bounded too.
          for (const message of appendMessages(request, correlationId)) stream.call.write(message);
        },
        (error: unknown) => settle(unknown(asError(error))),
      );
    });
  }

  async close(): Promise<void> {
    const stream = await this.opening?.catch(() => undefined);
    stream?.call.cancel();
  }

  private open(): Promise<OpenStream> {
    if (this.opening) return this.opening;
    const opening = this.connection.channel().then((channel) => this.begin(channel, () => this.forget(opening)));
    this.opening = opening;
    opening.catch(() => this.forget(opening));
    return opening;
  }

  private forget(opening: Promise<OpenStream>): void {
    if (this.opening === opening) this.opening = undefined;
  }

  private begin(channel: Channel, ended: () => void): OpenStream {
    const call = channel.appends();
    const waiting = new Map<string, (outcome: TryOutcome) => void>();
    const lost = (error: Error): void => {
      ended();
      const settles = [...waiting.values()];
      waiting.clear();
      for (const settle of settles) settle(unknown(error));
    };
    let givenUp = false;
    const stream: OpenStream = {
      call,
      waiting,
      answers: 0,
      giveUp: (error) => {
        givenUp = true;
        channel.failed(error);
        lost(error);
        call.cancel();
      },
    };
    call.on('data', ({ correlationId, outcome }: AppendAnswer) => {
      const settle = waiting.get(correlationId);
      waiting.delete(correlationId);
      stream.answers += 1;
      this.connection.answered();
      settle?.(outcome);
    });
    call.on('error', (error: Error) => {
      if (!givenUp) channel.failed(error);
      lost(error);
    });
    call.on('end', () => lost(new Error('the server ended the stream of appends')));
    return stream;
  }
}

interface OpenStream {
  readonly call: ClientDuplexStream<Buffer, AppendAnswer>;
  readonly waiting: Map<string, (outcome: TryOutcome) => void>;
  /** How many answers came on this stream. */
  answers: number;
  readonly giveUp: (error: Error) => void;
}

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));

/** In the form of a UUID, which is all that the protocol asks for; no two of a stream are the same. */
const correlationIdOf = (count: number): string => `00000000-0000-4000-a000-${count.toString(16).padStart(12, '0')}`;
