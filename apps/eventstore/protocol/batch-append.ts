import type { ServerDuplexStream } from '@grpc/grpc-js';
import type { Caller } from '../access/permissions.js';
import type { Timer } from '#kernel';
import type { ExpectedRevision } from '../log/append-rules.js';
import type { ProposedEvent } from '../log/record.js';
import type { WriteOutcome } from '../log/write.js';
import { PacedWriter } from '../subscriptions/paced-writer.js';
import { AppendSize } from './append-size.js';
import {
  batchAccessDenied,
  batchBadRequest,
  batchStreamDeleted,
  batchTimeout,
  batchTooLarge,
  batchUnknown,
  encodeBatchFailure,
  wrongVersion,
} from './batch-errors.js';
import type { BatchError } from './batch-errors.js';
import { callerOf, isAllowed } from './context.js';
import type { ServiceContext } from './context.js';
import { invalidArgument, shuttingDown } from './errors.js';
import { checkProposal } from './requests.js';
import type { AppendOptions, BatchAppendRequest, Proposal } from './requests.js';
import { encodeBatchSuccess } from './responses.js';
import { normaliseUuid } from '../log/uuid.js';

/** An append whose messages are still coming in. */
interface Batch {
  readonly correlationId: string;
  readonly stream: string;
  readonly expected: ExpectedRevision;
  readonly expiresAt: number | undefined;
  readonly events: ProposedEvent[];
  readonly size: AppendSize;
  timer?: Timer;
}

/** `Streams.BatchAppend`: any number of appends over one call, answered as each is on disk. */
export const handleBatchAppend =
  (context: ServiceContext) =>
  (call: ServerDuplexStream<BatchAppendRequest, readonly Buffer[]>): void => {
    try {
      new BatchAppendCall(context, call, callerOf(context, call.metadata)).start();
    } catch (error) {
      call.emit('error', error);
    }
  };

/**
 * One open BatchAppend call. A message with options opens a batch; messages with its correlation id add events; the
 * final one hands it to the log. Refusals answer with the correlation id and leave the call open. While the log has
 * much to commit, or the caller does not read its answers, no more messages are taken in. Ends when the caller has
 * closed its side and all is answered, when the caller leaves (what is not yet committed is dropped), or when the
 * server stops.
 */
class BatchAppendCall {
  private readonly batches = new Map<string, Batch>();
  private readonly out: PacedWriter;
  private unanswered = 0;
  private closing = false;

  constructor(
    private readonly context: ServiceContext,
    private readonly call: ServerDuplexStream<BatchAppendRequest, readonly Buffer[]>,
    private readonly caller: Caller,
  ) {
    this.out = new PacedWriter(call);
  }

  start(): void {
    const open = { close: () => this.out.fail(shuttingDown()) };
    this.context.openCalls.add(open);
    this.out.onEnd(() => {
      this.context.openCalls.delete(open);
      for (const { timer } of this.batches.values()) timer?.cancel();
      this.batches.clear();
    });
    this.call.on('data', (request: BatchAppendRequest) => this.take(request));
    this.call.on('end', () => {
      this.closing = true;
      this.endIfDone();
    });
  }

  private take(request: BatchAppendRequest): void {
    const { correlationId, options } = request;
    if (normaliseUuid(correlationId) === undefined) {
      return this.out.fail(invalidArgument(`the correlation id '${correlationId}' is not a UUID`));
    }
    const known = this.batches.get(correlationId);
    const batch = known ?? (options && this.open(correlationId, options));
    if (!batch) return;
    if (this.addAll(batch, request.proposals)) {
      if (request.final) this.commit(batch);
      else this.awaitRest(batch);
    }
    this.holdBack();
  }

  private open(correlationId: string, options: AppendOptions): Batch | undefined {
    const { stream = '', expected = { kind: 'any' } } = options;
    const now = this.context.clock.now();
    const expiresAt = options.timeout === undefined ? options.deadline : now + options.timeout;
    const refusal = this.refusalOf(options, expiresAt, now);
    if (refusal) {
      this.out.write(encodeBatchFailure(correlationId, stream, refusal));
      return undefined;
    }
    const size = new AppendSize(this.context.maxAppendSize);
    return { correlationId, stream, expected, expiresAt, events: [], size };
  }

  /** Checks the options in the order of the real server. */
  private refusalOf(
    { stream = '', expected }: AppendOptions,
    expiresAt: number | undefined,
    now: number,
  ): BatchError | undefined {
    if (!isAllowed(this.context, this.caller, 'write', stream)) return batchAccessDenied();
    if (stream === '' || stream === '$$') return batchBadRequest('The stream has no name.');
    if (!expected) return batchBadRequest('The expected revision is not given.');
    if (expiresAt !== undefined && expiresAt <= now) return batchTimeout();
    return undefined;
  }

  private addAll(batch: Batch, proposals: readonly Proposal[]): boolean {
    try {
      for (const proposal of proposals) {
        batch.events.push(checkProposal(proposal));
        batch.size.add(proposal);
      }
    } catch (error) {
      this.refuse(batch, batchBadRequest((error as Error).message));
      return false;
    }
    if (batch.size.exceeded) this.refuse(batch, batchTooLarge(this.context.maxAppendSize));
    return !batch.size.exceeded;
  }

  private awaitRest(batch: Batch): void {
    this.batches.set(batch.correlationId, batch);
    if (batch.timer || batch.expiresAt === undefined) return;
    const wait = Math.min(batch.expiresAt - this.context.clock.now(), 2 ** 31 - 1);
    batch.timer = this.context.timers.after(Math.max(0, wait), () => this.refuse(batch, batchTimeout()));
  }

  private commit(batch: Batch): void {
    this.forget(batch);
    this.unanswered += 1;
    this.context.log.write({
      request: { kind: 'append', stream: batch.stream, expected: batch.expected, events: batch.events },
      bytes: batch.size.bytes,
      ...(batch.expiresAt !== undefined && { expiresAt: batch.expiresAt }),
      abandoned: () => this.out.ended,
      settle: (outcome) => this.conclude(this.encodeOutcome(batch, outcome)),
      fail: (error) => {
        this.context.logger.error('a commit failed', { error: error.message, stream: batch.stream });
        this.conclude(encodeBatchFailure(batch.correlationId, batch.stream, batchUnknown()));
      },
    });
  }

  private encodeOutcome({ correlationId, stream, expected }: Batch, outcome: WriteOutcome): Buffer {
    switch (outcome.kind) {
      case 'stored':
        return encodeBatchSuccess(correlationId, stream, outcome.revision, outcome.position);
      case 'wrong-revision':
        return encodeBatchFailure(correlationId, stream, wrongVersion(expected, outcome.current));
      case 'deleted':
        return encodeBatchFailure(correlationId, stream, batchStreamDeleted(stream));
      case 'expired':
        return encodeBatchFailure(correlationId, stream, batchTimeout());
    }
  }

  private refuse(batch: Batch, error: BatchError): void {
    this.forget(batch);
    this.out.write(encodeBatchFailure(batch.correlationId, batch.stream, error));
  }

  private forget(batch: Batch): void {
    batch.timer?.cancel();
    this.batches.delete(batch.correlationId);
  }

  private conclude(bytes: Buffer): void {
    this.unanswered -= 1;
    this.out.write(bytes);
    this.endIfDone();
  }

  private endIfDone(): void {
    if (this.closing && this.unanswered === 0) this.out.end();
  }

  private holdBack(): void {
    const { log } = this.context;
    if (this.call.isPaused() || !(log.full || this.out.congested)) return;
    this.call.pause();
    void Promise.all([log.room(), this.out.ready()]).then(() => this.call.resume());
  }
}
