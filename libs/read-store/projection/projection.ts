import type { RecordedEvent } from '#event-store';
import type { KeyedTable, LogTable, Table } from './table.js';

/** A row that the fold of one event reads or writes. */
export type RowReference = readonly [table: KeyedTable, key: string];

/**
 * The rows of a batch, as the fold works on them. Reads see what earlier events of the batch wrote; only rows that
 * `touches` named for the event may be read.
 */
export interface Rows {
  get<Row>(table: KeyedTable<Row>, key: string): Row | undefined;
  put<Row>(table: KeyedTable<Row>, row: Row): void;
  append<Row>(table: LogTable<Row>, row: Row): void;
}

/**
 * A read model as a value: tables and a pure fold of events into their rows. All rows that an event touches belong to
 * that event's stream. Change what the rows hold only together with `version`: a start with another version fills new
 * tables beside the old ones and then switches.
 */
export interface Projection {
  readonly name: string;
  readonly version: number;
  /** Only events of streams with these prefixes are seen. */
  readonly prefixes: readonly string[];
  /** The types that the fold knows. Another one is passed over while live and ends a rebuild. */
  readonly eventTypes: ReadonlySet<string>;
  /** The table with one (tracked) row for each stream. */
  readonly main: KeyedTable;
  /** All tables, the main one included. */
  readonly tables: readonly Table[];
  /** The key of the stream's row in `main`. */
  readonly keyOf: (stream: string) => string;
  /** The other rows that the fold of this event reads. */
  readonly touches: (event: RecordedEvent) => readonly RowReference[];
  readonly project: (event: RecordedEvent, rows: Rows) => void;
}

export const concerns = (projection: Projection, stream: string): boolean =>
  projection.prefixes.some((prefix) => stream.startsWith(prefix));

/** An event of a type that this code does not know: the log was written by a newer version. */
export class UnknownEventType extends Error {
  override readonly name = 'UnknownEventType';
  constructor(
    readonly projection: string,
    readonly event: Pick<RecordedEvent, 'type' | 'stream' | 'revision'>,
  ) {
    super(
      `projection ${projection} does not know ${event.type} (${event.stream}, revision ${event.revision.toString()})`,
    );
  }
}

/** The fold threw: a fault in the projection or an event that it did not foresee. Nothing of the event was stored. */
export class PoisonEvent extends Error {
  override readonly name = 'PoisonEvent';
  constructor(
    readonly projection: string,
    readonly event: Pick<RecordedEvent, 'id' | 'type' | 'stream' | 'revision' | 'position'>,
    cause: unknown,
  ) {
    const place = `${event.stream}, revision ${event.revision.toString()}, position ${event.position.toString()}`;
    super(`projection ${projection} failed on ${event.type} (${place}): ${String(cause)}`, { cause });
  }
}
