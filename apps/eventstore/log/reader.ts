import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Clock } from '#kernel';
import { LINK_TYPE, NO_EVENTS } from './record.js';
import type { EventHeading, RecordedEvent } from './record.js';
import type { StreamMetadata } from './stream-metadata.js';
import type { StreamTable } from './streams.js';
import { uuidFromBytes } from './uuid.js';

/** At most this many events and, beyond the first, this many bytes are held in memory for one reader at a time. */
export interface PageSize {
  readonly events: number;
  readonly bytes: number;
}

export const PAGE: PageSize = { events: 256, bytes: 1024 * 1024 };
/** Headings are small and cheap to read: a tenth of what an event costs. */
const HEADINGS = 1024;

/** One page of a stream; `next` is where to go on, undefined at the end. */
export type StreamPage =
  | { readonly kind: 'missing' }
  | { readonly kind: 'deleted' }
  | {
      readonly kind: 'page';
      readonly events: readonly RecordedEvent[];
      readonly next: number | undefined;
      readonly head: number;
      /** The lowest revision that may be read. */
      readonly first: number;
    };

/** One page of `$all`. `last` is the position of the last event in it; `end` says that no event follows. */
export interface AllPage<Event extends EventHeading = RecordedEvent> {
  readonly events: readonly Event[];
  readonly end: boolean;
}

/** An event as a reader gets it: the event itself, or a link with the event that it points at if that can be read. */
export interface ResolvedEvent {
  readonly event: RecordedEvent | undefined;
  readonly link: RecordedEvent | undefined;
}

export type Direction = 'forwards' | 'backwards';

const COLUMNS = 'e.position, s.name, e.revision, e.created, e.json, e.id, e.type, e.data, e.metadata';
const FROM = 'FROM events e JOIN streams s ON s.id = e.stream';
type Row = [number, string, number, number, number, Uint8Array, string, Uint8Array, Uint8Array];

const toEvent = ([position, stream, revision, created, json, id, type, data, metadata]: Row): RecordedEvent => ({
  position,
  stream,
  revision,
  created,
  json: json === 1,
  id: uuidFromBytes(id),
  type,
  data,
  metadata,
});

/** Reads the committed log, a bounded page at a time. */
export class LogReader {
  private readonly streamForwards: StatementSync;
  private readonly streamBackwards: StatementSync;
  private readonly allForwards: StatementSync;
  private readonly allBackwards: StatementSync;
  private readonly headings: StatementSync;
  private readonly headingsBackwards: StatementSync;
  private readonly at: StatementSync;

  constructor(
    database: DatabaseSync,
    private readonly streams: StreamTable,
    private readonly clock: Clock,
  ) {
    const rows = (sql: string): StatementSync => {
      const statement = database.prepare(sql);
      statement.setReturnArrays(true);
      return statement;
    };
    const inStream = `SELECT ${COLUMNS} ${FROM} WHERE e.stream = ? AND e.revision BETWEEN ? AND ? AND e.created >= ?`;
    this.streamForwards = rows(`${inStream} ORDER BY e.revision LIMIT ?`);
    this.streamBackwards = rows(`${inStream} ORDER BY e.revision DESC LIMIT ?`);
    this.allForwards = rows(`SELECT ${COLUMNS} ${FROM} WHERE e.position > ? ORDER BY e.position LIMIT ?`);
    this.allBackwards = rows(`SELECT ${COLUMNS} ${FROM} WHERE e.position < ? ORDER BY e.position DESC LIMIT ?`);
    const light = `SELECT e.position, s.name, e.type ${FROM}`;
    this.headings = rows(`${light} WHERE e.position > ? ORDER BY e.position LIMIT ?`);
    this.headingsBackwards = rows(`${light} WHERE e.position < ? ORDER BY e.position DESC LIMIT ?`);
    this.at = rows(`SELECT ${COLUMNS} ${FROM} WHERE e.position = ?`);
  }

  /** Events of a stream from a revision on (inclusive), as far as the stream's metadata lets them be read. */
  streamPage(name: string, from: number, direction: Direction, limit: number = PAGE.events): StreamPage {
    const stream = this.streams.get(name);
    if (stream.tombstoned) return { kind: 'deleted' };
    const metadata = this.streams.metadataOf(stream);
    if (stream.head === NO_EVENTS || metadata.softDeleted) return { kind: 'missing' };
    const first = firstReadable(stream.head, metadata);
    const oldest = metadata.maxAge === undefined ? 0 : this.clock.now() - metadata.maxAge;
    const forwards = direction === 'forwards';
    const [low, high] = forwards ? [Math.max(from, first), stream.head] : [first, Math.min(from, stream.head)];
    const statement = forwards ? this.streamForwards : this.streamBackwards;
    const { rows, more } = page(statement.iterate(stream.id, low, high, oldest, limit + 1), limit);
    const events = rows.map(toEvent);
    const last = events.at(-1)?.revision ?? 0;
    const next = more ? last + (forwards ? 1 : -1) : undefined;
    return { kind: 'page', events, next, head: stream.head, first };
  }

  /** Events after a position (or before it, backwards), exclusive. */
  allPage(from: number, direction: Direction, limit: number = PAGE.events): AllPage {
    const statement = direction === 'forwards' ? this.allForwards : this.allBackwards;
    const { rows, more } = page(statement.iterate(from, limit + 1), limit);
    return { events: rows.map(toEvent), end: !more };
  }

  /** As `allPage`, without the bytes of the events, so that a filter can pass over most of them cheaply. */
  headingPage(from: number, direction: Direction, limit: number = HEADINGS): AllPage<EventHeading> {
    const statement = direction === 'forwards' ? this.headings : this.headingsBackwards;
    const rows = statement.all(from, limit + 1) as unknown as [number, string, string][];
    const events = rows.slice(0, limit).map(([position, stream, type]) => ({ position, stream, type }));
    return { events, end: rows.length <= limit };
  }

  eventAt(position: number): RecordedEvent | undefined {
    const row = this.at.get(position) as unknown as Row | undefined;
    return row && toEvent(row);
  }

  /** Follows a link (type `$>`, data `revision@stream`). An event that is no link, or a malformed one, is itself. */
  resolve(event: RecordedEvent): ResolvedEvent {
    const [, revision, stream] =
      event.type === LINK_TYPE ? (/^(\d{1,15})@(.+)$/s.exec(Buffer.from(event.data).toString('utf8')) ?? []) : [];
    if (revision === undefined || stream === undefined) return { event, link: undefined };
    const target = this.streamPage(stream, Number(revision), 'forwards', 1);
    const found = target.kind === 'page' ? target.events[0] : undefined;
    return { event: found?.revision === Number(revision) ? found : undefined, link: event };
  }
}

const firstReadable = (head: number, { maxCount, truncateBefore }: StreamMetadata): number =>
  Math.max(0, maxCount === undefined ? 0 : head - maxCount + 1, truncateBefore ?? 0);

/** Takes rows until the page is full and says whether at least one more was there. */
const page = (rows: Iterable<unknown>, limit: number): { rows: Row[]; more: boolean } => {
  const taken: Row[] = [];
  let bytes = 0;
  for (const row of rows as Iterable<Row>) {
    if (taken.length >= limit || (taken.length > 0 && bytes > PAGE.bytes)) return { rows: taken, more: true };
    bytes += row[7].length + row[8].length;
    taken.push(row);
  }
  return { rows: taken, more: false };
};
