import type { ServerWritableStream } from '@grpc/grpc-js';
import type streams from '@eventstore/db-client/generated/streams_pb.js';
import { ALL_STREAM } from '../access/permissions.js';
import { PAGE } from '../log/reader.js';
import type { Direction } from '../log/reader.js';
import type { EventHeading, RecordedEvent } from '../log/record.js';
import { CheckpointCounter, buildFilter } from '../subscriptions/event-filter.js';
import type { EventFilter } from '../subscriptions/event-filter.js';
import { PacedWriter } from '../subscriptions/paced-writer.js';
import { Subscription } from '../subscriptions/subscription.js';
import type { SubscriptionTarget } from '../subscriptions/subscription.js';
import { authorise, isForCaller } from './context.js';
import type { ServiceContext } from './context.js';
import { internalError, invalidArgument, shuttingDown, streamDeleted } from './errors.js';
import { encodeFirstStreamPosition, encodeLastStreamPosition, encodeStreamNotFound } from './read-messages.js';
import { parseReadRequest } from './read-request.js';
import type { ReadRequest, Start } from './read-request.js';
import { encodeReadEvent } from './responses.js';

/** `Streams.Read`: reads and subscriptions, of one stream or of `$all`. */
export const handleRead =
  (context: ServiceContext) =>
  (call: ServerWritableStream<streams.ReadReq, readonly Buffer[]>): void => {
    const out = new PacedWriter(call);
    const open = { close: () => out.fail(shuttingDown()) };
    context.openCalls.add(open);
    out.onEnd(() => context.openCalls.delete(open));
    serve(context, call, out).then(
      () => out.end(),
      (error: unknown) => out.fail(isForCaller(error) ? (error as Error) : fault(context, error)),
    );
  };

const fault = ({ logger }: ServiceContext, error: unknown): Error => {
  logger.error('a read failed', { error: error instanceof Error ? error.stack : String(error) });
  return internalError();
};

const serve = async (
  context: ServiceContext,
  call: ServerWritableStream<streams.ReadReq, readonly Buffer[]>,
  out: PacedWriter,
): Promise<void> => {
  const request = parseReadRequest(call.request);
  authorise(context, call.metadata, 'read', request.stream ?? ALL_STREAM);
  const { stream, count } = request;
  if (count === undefined) return subscribe(context, request, out);
  if (stream !== undefined) return readStream(context, { ...request, stream, count }, out);
  return readAll(context, { ...request, count }, out);
};

type CountedRead = ReadRequest & { readonly count: number };

const subscribe = (context: ServiceContext, request: ReadRequest, out: PacedWriter): Promise<void> => {
  const { resolveLinks, uuids } = request;
  const options = { id: context.ids.next(), target: targetOf(request), resolveLinks, uuids };
  return new Subscription(context.log, context.feed, out, options).run();
};

const targetOf = ({ stream, from, filter }: ReadRequest): SubscriptionTarget => {
  if (stream !== undefined) return { kind: 'stream', stream, after: exclusive(from, -1) };
  const after = exclusive(from, 0);
  if (!filter) return { kind: 'all', after };
  const checkpoints = new CheckpointCounter(filter.checkpointMultiplier, filter.window);
  return { kind: 'all', after, filter: filterOf(filter.spec), checkpoints };
};

const exclusive = (from: Start, beforeAll: number): number | 'end' =>
  from === 'start' ? beforeAll : from === 'end' ? 'end' : from.at;

const filterOf = (spec: Parameters<typeof buildFilter>[0]): EventFilter => {
  try {
    return buildFilter(spec);
  } catch (error) {
    throw invalidArgument((error as Error).message);
  }
};

const readStream = async (
  { log }: ServiceContext,
  request: CountedRead & { readonly stream: string },
  out: PacedWriter,
): Promise<void> => {
  const { stream, direction, count, tellsBounds } = request;
  let from: number | undefined = inclusive(request.from);
  for (let left = count; from !== undefined;) {
    const page = log.reader.streamPage(stream, from, direction, Math.min(left, PAGE.events));
    if (page.kind === 'deleted') throw streamDeleted(stream);
    if (page.kind === 'missing') {
      out.write(encodeStreamNotFound(stream));
      return;
    }
    if (tellsBounds && left === count && page.events.length === 0 && from < page.first) {
      out.write(encodeFirstStreamPosition(page.first));
    }
    await sendAll(log, request, page.events, out);
    left -= page.events.length;
    from = left > 0 && !out.ended ? page.next : undefined;
    if (from === undefined && tellsBounds) out.write(encodeLastStreamPosition(page.head));
    if (from !== undefined) await breathe();
  }
};

const inclusive = (from: Start): number => (from === 'start' ? 0 : from === 'end' ? Number.MAX_SAFE_INTEGER : from.at);

/**
 * Positions stand at the beginning of an event: forwards from one includes that event, backwards from one begins with
 * the event before it.
 */
const readAll = async ({ log }: ServiceContext, request: CountedRead, out: PacedWriter): Promise<void> => {
  const { direction, count } = request;
  const matches = request.filter && filterOf(request.filter.spec);
  let cursor = allCursor(request.from, direction);
  for (let left = count; left > 0 && !out.ended;) {
    const page = matches
      ? log.reader.headingPage(cursor, direction)
      : log.reader.allPage(cursor, direction, Math.min(left, PAGE.events));
    const wanted = matches ? page.events.filter(matches).slice(0, left) : page.events;
    await sendAll(log, request, wanted, out);
    left -= wanted.length;
    cursor = page.events.at(-1)?.position ?? cursor;
    if (page.end) return;
    await breathe();
  }
};

const allCursor = (from: Start, direction: Direction): number => {
  if (from === 'start') return 0;
  if (from === 'end') return Number.MAX_SAFE_INTEGER;
  return direction === 'forwards' && from.exact ? from.at - 1 : from.at;
};

const sendAll = async (
  log: ServiceContext['log'],
  { resolveLinks, uuids }: ReadRequest,
  events: readonly (RecordedEvent | EventHeading)[],
  out: PacedWriter,
): Promise<void> => {
  for (const item of events) {
    const event = 'data' in item ? item : log.reader.eventAt(item.position);
    if (!event) throw new Error(`no event at position ${item.position}`);
    const resolved = resolveLinks ? log.reader.resolve(event) : { event, link: undefined };
    out.write(encodeReadEvent(resolved.event, resolved.link, uuids));
    if (out.congested) await out.ready();
    if (out.ended) return;
  }
};

const breathe = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
