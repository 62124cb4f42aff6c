import shared from '@eventstore/db-client/generated/shared_pb.js';
import { MAX_APPEND_BYTES } from '../limits.js';
import { EventTooLarge } from '../port.js';
import { Stalled } from './patience.js';
import { appendMessages } from './requests.js';
import type { Random, Timers } from '#kernel';
import type { ClientDuplexStream } from '@grpc/grpc-js';
import type { BatchAppendReq, BatchAppendResp } from '@eventstore/db-client/generated/streams_pb.js';
import type { Channel, Connection } from './connection.js';
import type { AppendRequest } from './requests.js';

/** What became of one try. `unknown`: it may be stored, it may be stored later, or never. */
export type TryOutcome =
  | { readonly kind: 'stored'; readonly revision: bigint; readonly position: bigint | undefined }
  | { readonly kind: 'conflict'; readonly actual: bigint | 'none' }
  | { readonly kind: 'refused'; readonly error: Error }
  | { readonly kind: 'unknown'; readonly error: Error };

/**
 * Sends appends over one BatchAppend stream and matches the answers. Each stream has a table of its own, so what happens
 * to one connection touches no other, and an answer that comes after its append was given up is dropped.
 *
 * Two modes. *Closed*: the next append opens a stream. *Open* until the stream ends or fails; all that wait on it then
 * have an unknown outcome.
 */
export class BatchStream {
  private opening: Promise<OpenStream> | undefined;

  constructor(
    private readonly connection: Connection,
    private readonly timers: Timers,
    private readonly random: Random,
  ) {}

  /** Never rejects. Ends as `unknown` when no answer came within `limit` milliseconds. */
  async send(request: AppendRequest, limit: number): Promise<TryOutcome> {
    return new Promise((resolve) => {
      const correlationId = randomUuid(this.random);
      let stream: OpenStream | undefined;
      let answersBefore = 0;
      let settled = false;
      const timer = this.timers.after(limit, () => {
        const error = new Stalled('an append', limit);
        settle(unknown(error));
        stream?.waiting.delete(correlationId);
        // Slow is one thing; a stream on which nothing at all came is given up with all that wait on it.
        if (stream?.answers === answersBefore) stream.giveUp(error);
      });
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
    const call = channel.streams.batchAppend(...channel.callArguments());
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
    call.on('data', (answer: BatchAppendResp) => {
      const id = answer.getCorrelationId()?.getString() ?? '';
      const settle = waiting.get(id);
      waiting.delete(id);
      stream.answers += 1;
      this.connection.answered();
      settle?.(outcomeOf(answer));
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
  readonly call: ClientDuplexStream<BatchAppendReq, BatchAppendResp>;
  readonly waiting: Map<string, (outcome: TryOutcome) => void>;
  /** How many answers came on this stream. */
  answers: number;
  readonly giveUp: (error: Error) => void;
}

const unknown = (error: Error): TryOutcome => ({ kind: 'unknown', error });

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));

const outcomeOf = (answer: BatchAppendResp): TryOutcome => {
  const success = answer.getSuccess();
  if (!success) return failureOf(answer);
  const position = success.getPosition();
  return {
    kind: 'stored',
    revision: BigInt(success.getCurrentRevision()),
    position: position && BigInt(position.getCommitPosition()),
  };
};

/** What a refusal means. All that does not say for certain that nothing was stored is unknown. */
const failureOf = (answer: BatchAppendResp): TryOutcome => {
  const failure = answer.getError();
  const details = failure?.getDetails();
  const type = details?.getTypeName() ?? '';
  const message = failure?.getMessage() ?? 'the server refused the append without a reason';
  switch (type) {
    case 'event_store.client.WrongExpectedVersion': {
      const wrong = details?.unpack((bytes) => shared.WrongExpectedVersion.deserializeBinary(bytes), type);
      return {
        kind: 'conflict',
        actual: wrong?.hasCurrentStreamRevision() ? BigInt(wrong.getCurrentStreamRevision()) : 'none',
      };
    }
    case 'event_store.client.MaximumAppendSizeExceeded': {
      const exceeded = details?.unpack((bytes) => shared.MaximumAppendSizeExceeded.deserializeBinary(bytes), type);
      const limit = exceeded?.getMaxappendsize() ?? MAX_APPEND_BYTES;
      return { kind: 'refused', error: new EventTooLarge(limit + 1, limit) };
    }
    case 'event_store.client.StreamDeleted':
    case 'event_store.client.AccessDenied':
    case 'event_store.client.BadRequest':
      return { kind: 'refused', error: new Error(`${type.replace('event_store.client.', '')}: ${message}`) };
    default:
      return unknown(new Error(`${type.replace('event_store.client.', '')}: ${message}`));
  }
};

/** A version 4 UUID; it only needs to differ from the others on the same stream. */
const randomUuid = (random: Random): string => {
  const hex = (digits: number): string =>
    Math.floor(random.next() * 16 ** digits)
      .toString(16)
      .padStart(digits, '0');
  return `${hex(8)}-${hex(4)}-4${hex(3)}-a${hex(3)}-${hex(6)}${hex(6)}`;
};
