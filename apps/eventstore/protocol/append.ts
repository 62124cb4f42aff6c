import type { ServerReadableStream, sendUnaryData } from '@grpc/grpc-js';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import type { ExpectedRevision } from '../log/append-rules.js';
import type { ProposedEvent } from '../log/record.js';
import type { WriteOutcome } from '../log/write.js';
import { AppendSize } from './append-size.js';
import { authorise, isForCaller } from './context.js';
import type { ServiceContext } from './context.js';
import { appendTooLarge, internalError, invalidArgument, missingProperty, streamDeleted, timedOut } from './errors.js';
import { BadRequestError, checkProposal } from './requests.js';
import type { AppendRequest, Proposal } from './requests.js';

type AppendResp = InstanceType<typeof streams.AppendResp>;

/** `Streams.Append`: one append a call; its first message holds the options, each further one an event. */
export const handleAppend =
  (context: ServiceContext) =>
  (call: ServerReadableStream<AppendRequest, AppendResp>, callback: sendUnaryData<AppendResp>): void => {
    new AppendCall(context, call, callback).start();
  };

class AppendCall {
  private stream = '';
  private expected: ExpectedRevision | undefined;
  private readonly events: ProposedEvent[] = [];
  private readonly size: AppendSize;
  private answered = false;
  private left = false;

  constructor(
    private readonly context: ServiceContext,
    private readonly call: ServerReadableStream<AppendRequest, AppendResp>,
    private readonly callback: sendUnaryData<AppendResp>,
  ) {
    this.size = new AppendSize(context.maxAppendSize);
  }

  start(): void {
    this.call.on('data', (request: AppendRequest) => this.attempt(() => this.take(request)));
    this.call.on('end', () => this.attempt(() => this.commit()));
    this.call.on('cancelled', () => (this.left = true));
    this.call.on('error', () => (this.left = true));
  }

  private take(request: AppendRequest): void {
    if ('options' in request) this.open(request.options.stream, request.options.expected);
    else this.add(request.proposal);
  }

  private open(stream: string | undefined, expected: ExpectedRevision | undefined): void {
    if (this.expected) throw invalidArgument('the append has options twice');
    if (!stream || stream === '$$') throw invalidArgument('the stream has no name');
    if (!expected) throw invalidArgument('the expected revision is not given');
    authorise(this.context, this.call.metadata, 'write', stream);
    this.stream = stream;
    this.expected = expected;
  }

  private add(proposal: Proposal): void {
    if (!this.expected) throw invalidArgument('the first message of an append must hold its options');
    this.size.add(proposal);
    if (this.size.exceeded) throw appendTooLarge(this.context.maxAppendSize);
    this.events.push(checkProposal(proposal));
  }

  private commit(): void {
    const { expected, stream, events } = this;
    if (!expected) throw invalidArgument('the append has no options');
    this.context.log.write({
      request: { kind: 'append', stream, expected, events },
      bytes: this.size.bytes,
      abandoned: () => this.left,
      settle: (outcome) => this.attempt(() => this.answer(null, encodeOutcome(stream, expected, outcome))),
      fail: (error) => {
        this.context.logger.error('a commit failed', { error: error.message, stream });
        this.answer(internalError());
      },
    });
  }

  /** Runs one step; what it throws is the answer. After an answer nothing more happens. */
  private attempt(step: () => void): void {
    if (this.answered) return;
    try {
      step();
    } catch (error) {
      if (error instanceof BadRequestError) {
        this.answer(error.missing === undefined ? invalidArgument(error.message) : missingProperty(error.message));
      } else if (isForCaller(error)) {
        this.answer(error as Error);
      } else {
        throw error;
      }
    }
  }

  private answer(error: Error | null, response?: AppendResp): void {
    this.answered = true;
    this.callback(error, response);
  }
}

/** @throws ServiceError for the outcomes that the protocol reports as an error status. */
const encodeOutcome = (stream: string, expected: ExpectedRevision, outcome: WriteOutcome): AppendResp => {
  switch (outcome.kind) {
    case 'stored':
      return success(outcome.revision, outcome.position);
    case 'wrong-revision':
      return new streams.AppendResp().setWrongExpectedVersion(wrongVersion(expected, outcome.current));
    case 'deleted':
      throw streamDeleted(stream);
    case 'expired':
      throw timedOut();
  }
};

const success = (revision: number, position: number): AppendResp => {
  const place = new streams.AppendResp.Position()
    .setCommitPosition(String(position))
    .setPreparePosition(String(position));
  const result = new streams.AppendResp.Success().setPosition(place);
  if (revision < 0) result.setNoStream(new shared.Empty());
  else result.setCurrentRevision(String(revision));
  return new streams.AppendResp().setSuccess(result);
};

const wrongVersion = (
  expected: ExpectedRevision,
  current: number,
): InstanceType<typeof streams.AppendResp.WrongExpectedVersion> => {
  const detail = new streams.AppendResp.WrongExpectedVersion();
  if (current < 0) detail.setCurrentNoStream(new shared.Empty());
  else detail.setCurrentRevision(String(current));
  switch (expected.kind) {
    case 'any':
      return detail.setExpectedAny(new shared.Empty());
    case 'no-stream':
      return detail.setExpectedNoStream(new shared.Empty());
    case 'stream-exists':
      return detail.setExpectedStreamExists(new shared.Empty());
    case 'exact':
      return detail.setExpectedRevision(String(expected.revision));
  }
};
