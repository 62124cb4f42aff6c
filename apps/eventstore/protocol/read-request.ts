import type streams from '@eventstore/db-client/generated/streams_pb.js';
import { clampToLog } from '../log/record.js';
import type { Direction } from '../log/reader.js';
import type { FilterSpec } from '../subscriptions/event-filter.js';
import { invalidArgument } from './errors.js';
import type { UuidForm } from './responses.js';

/** `ReadDirection.BACKWARDS` of the protocol. */
const BACKWARDS = 1;

type ReadReq = streams.ReadReq;
type Options = streams.ReadReq.Options;

/** Where a read begins. A place beyond the log's range is simply past every event. */
export type Start = 'start' | 'end' | { readonly at: number; readonly exact: boolean };

/** A filter and, for subscriptions, how often a checkpoint is wanted. */
interface FilterOptions {
  readonly spec: FilterSpec;
  readonly window: number | undefined;
  readonly checkpointMultiplier: number;
}

/** `Streams.Read`, taken apart and checked. */
export interface ReadRequest {
  /** Undefined for `$all`. */
  readonly stream: string | undefined;
  readonly from: Start;
  readonly direction: Direction;
  /** Undefined for a subscription. */
  readonly count: number | undefined;
  readonly resolveLinks: boolean;
  readonly filter: FilterOptions | undefined;
  readonly uuids: UuidForm;
  /** The caller understands messages with the first and last revision of a stream. */
  readonly tellsBounds: boolean;
}

/** @throws ServiceError `INVALID_ARGUMENT` that names what is missing or does not go together. */
export const parseReadRequest = (request: ReadReq): ReadRequest => {
  const options = request.getOptions();
  if (!options) throw invalidArgument('the read has no options');
  const subscription = options.hasSubscription();
  if (!subscription && !options.hasCount()) throw invalidArgument('neither a count nor a subscription is asked for');
  if (!options.hasStream() && !options.hasAll()) throw invalidArgument('neither a stream nor $all is named');
  const direction = (options.getReadDirection() as number) === BACKWARDS ? 'backwards' : 'forwards';
  if (subscription && direction === 'backwards') throw invalidArgument('a subscription cannot go backwards');
  if (options.hasStream() && options.hasFilter()) throw invalidArgument('only $all can be filtered');
  return {
    ...(options.hasStream() ? parseStream(options) : parseAll(options)),
    direction,
    count: subscription ? undefined : clampToLog(BigInt(options.getCount())),
    resolveLinks: options.getResolveLinks(),
    filter: options.hasFilter() ? parseFilter(options, subscription) : undefined,
    uuids: options.getUuidOption()?.hasString() ? 'string' : 'structured',
    tellsBounds: (options.getControlOption()?.getCompatibility() ?? 0) >= 1,
  };
};

const parseStream = (options: Options): Pick<ReadRequest, 'stream' | 'from'> => {
  const given = options.getStream();
  const stream = Buffer.from(given?.getStreamIdentifier()?.getStreamName_asU8() ?? []).toString('utf8');
  if (!given || stream === '') throw invalidArgument('the stream has no name');
  if (given.hasStart()) return { stream, from: 'start' };
  if (given.hasEnd()) return { stream, from: 'end' };
  if (!given.hasRevision()) throw invalidArgument('the read does not say where to begin');
  return { stream, from: placeOf(BigInt(given.getRevision())) };
};

const parseAll = (options: Options): Pick<ReadRequest, 'stream' | 'from'> => {
  const given = options.getAll();
  if (given?.hasStart()) return { stream: undefined, from: 'start' };
  if (given?.hasEnd()) return { stream: undefined, from: 'end' };
  const position = given?.getPosition();
  if (!position) throw invalidArgument('the read does not say where to begin');
  const [commit, prepare] = [BigInt(position.getCommitPosition()), BigInt(position.getPreparePosition())];
  const place = placeOf(commit);
  return { stream: undefined, from: place === 'end' ? place : { ...place, exact: prepare <= commit } };
};

const LAST = 0xffff_ffff_ffff_ffffn;

/** The largest 64-bit number means the end. */
const placeOf = (value: bigint): 'end' | { at: number; exact: boolean } =>
  value === LAST ? 'end' : { at: clampToLog(value), exact: true };

const parseFilter = (options: Options, subscription: boolean): FilterOptions => {
  const given = options.getFilter();
  const onStream = given?.hasStreamIdentifier();
  const expression = onStream ? given?.getStreamIdentifier() : given?.getEventType();
  if (!given || !expression) throw invalidArgument('the filter says neither stream nor event type');
  if (!given.hasMax() && !given.hasCount()) throw invalidArgument('the filter names no window');
  const checkpointMultiplier = given.getCheckpointintervalmultiplier();
  if (subscription && checkpointMultiplier < 1) throw invalidArgument('the checkpoint interval must be above 0');
  const window = given.hasMax() ? given.getMax() : undefined;
  if (window === 0) throw invalidArgument('the search window must be above 0');
  const spec = {
    on: onStream ? ('stream' as const) : ('type' as const),
    regex: expression.getRegex(),
    prefixes: expression.getPrefixList(),
  };
  return { spec, window, checkpointMultiplier };
};
