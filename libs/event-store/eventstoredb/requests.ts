import shared from '@eventstore/db-client/generated/shared_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import { START } from '../port.js';
import type { ReadReq } from '@eventstore/db-client/generated/streams_pb.js';
import type { EventFilter, Position } from '../port.js';

const { FORWARDS, BACKWARDS } = streams.ReadReq.Options.ReadDirection;

/** Where a read of a stream starts and which way it goes. */
export type StreamStart = { readonly from: bigint } | 'end';

export const streamRequest = (stream: string, start: StreamStart, count: number, backwards: boolean): ReadReq => {
  const place = new streams.ReadReq.Options.StreamOptions();
  place.setStreamIdentifier(identifier(stream));
  if (start === 'end') place.setEnd(new shared.Empty());
  else place.setRevision(start.from.toString());
  const options = readOptions();
  options.setStream(place);
  options.setCount(String(count));
  options.setReadDirection(backwards ? BACKWARDS : FORWARDS);
  options.setNoFilter(new shared.Empty());
  return request(options);
};

/** Forwards from a position, which the read includes. */
export const allRequest = (from: Position, filter: EventFilter | undefined, count: number): ReadReq => {
  const options = readOptions();
  options.setAll(allFrom(from));
  options.setCount(String(count));
  options.setFilter(filterOptions(filter));
  return request(options);
};

/** The newest event of the log, whosever it is. */
export const headRequest = (): ReadReq => {
  const all = new streams.ReadReq.Options.AllOptions();
  all.setEnd(new shared.Empty());
  const options = readOptions();
  options.setAll(all);
  options.setCount('1');
  options.setReadDirection(BACKWARDS);
  options.setNoFilter(new shared.Empty());
  return request(options);
};

/** Live, from after a position. */
export const subscribeRequest = (after: Position, filter: EventFilter | undefined): ReadReq => {
  const options = readOptions();
  options.setAll(allFrom(after));
  options.setSubscription(new streams.ReadReq.Options.SubscriptionOptions());
  options.setFilter(filterOptions(filter));
  return request(options);
};

const identifier = (stream: string): InstanceType<typeof shared.StreamIdentifier> => {
  const message = new shared.StreamIdentifier();
  message.setStreamName(Buffer.from(stream));
  return message;
};

const readOptions = (): ReadReq.Options => {
  const asText = new streams.ReadReq.Options.UUIDOption();
  asText.setString(new shared.Empty());
  const options = new streams.ReadReq.Options();
  options.setUuidOption(asText);
  options.setReadDirection(FORWARDS);
  options.setResolveLinks(false);
  return options;
};

const allFrom = (position: Position): ReadReq.Options.AllOptions => {
  const all = new streams.ReadReq.Options.AllOptions();
  if (position === START) {
    all.setStart(new shared.Empty());
    return all;
  }
  const place = new streams.ReadReq.Options.Position();
  place.setCommitPosition(position.toString());
  place.setPreparePosition(position.toString());
  all.setPosition(place);
  return all;
};

/** By stream: the prefixes, or every stream that is not the store's own. */
const filterOptions = (filter: EventFilter | undefined): ReadReq.Options.FilterOptions => {
  const expression = new streams.ReadReq.Options.FilterOptions.Expression();
  if (filter) expression.setPrefixList([...filter.streamPrefixes]);
  else expression.setRegex('^[^$]');
  const options = new streams.ReadReq.Options.FilterOptions();
  options.setStreamIdentifier(expression);
  options.setCount(new shared.Empty());
  options.setCheckpointintervalmultiplier(1);
  return options;
};

const request = (options: ReadReq.Options): ReadReq => {
  const message = new streams.ReadReq();
  message.setOptions(options);
  return message;
};
