import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Clock, Ids, Millis } from '#kernel';
import { judgeAppend } from './append-rules.js';
import type { AppendVerdict, ExpectedRevision, IdLookup, StreamHead } from './append-rules.js';
import { METADATA_TYPE, NO_EVENTS, STORED_TOMBSTONE, TOMBSTONE_TYPE, firstPosition, nextPosition } from './record.js';
import type { ProposedEvent, RecordedEvent } from './record.js';
import type { RecentIds } from './recent-ids.js';
import {
  NO_METADATA,
  isMetastream,
  metastreamOf,
  originalOf,
  parseStreamMetadata,
  softDeletionMetadata,
  withTruncateBefore,
} from './stream-metadata.js';
import type { StreamState, StreamTable } from './streams.js';
import { uuidFromBytes, uuidToBytes } from './uuid.js';
import type { WriteOutcome, WriteRequest } from './write.js';

const NOTHING = new Uint8Array();

/**
 * Turns write requests into rows. Every call happens inside one transaction of the commit queue; what it changes in
 * memory is dropped by `forget` if that transaction fails.
 */
export class LogWriter {
  private readonly insert: StatementSync;
  private readonly idAt: StatementSync;
  private readonly positionAt: StatementSync;
  private readonly last: StatementSync;
  private next: number;
  private head: number;
  private written: RecordedEvent[] = [];
  private now: Millis = 0;

  constructor(
    database: DatabaseSync,
    private readonly streams: StreamTable,
    private readonly recent: RecentIds,
    private readonly clock: Clock,
    private readonly ids: Ids,
  ) {
    this.insert = database.prepare(
      `INSERT INTO events (position, stream, revision, created, json, id, type, data, metadata)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.idAt = database.prepare('SELECT id FROM events WHERE stream = ? AND revision = ?');
    this.positionAt = database.prepare('SELECT position FROM events WHERE stream = ? AND revision = ?');
    this.last = database.prepare('SELECT position, type, data, metadata FROM events ORDER BY position DESC LIMIT 1');
    [this.head, this.next] = this.findEnd();
  }

  /** Position of the last event written, committed or not; 0 in an empty log. */
  get headPosition(): number {
    return this.head;
  }

  begin(): void {
    this.written = [];
    this.now = this.clock.now();
  }

  /** The events written since `begin`, in the order of their positions. */
  take(): readonly RecordedEvent[] {
    return this.written;
  }

  /** Drops what is in memory after a rollback, so that it is read from the log again. */
  forget(): void {
    this.streams.clear();
    this.recent.clear();
    this.written = [];
    [this.head, this.next] = this.findEnd();
  }

  write(request: WriteRequest): WriteOutcome {
    switch (request.kind) {
      case 'append':
        return this.append(request.stream, request.expected, request.events);
      case 'delete':
        return this.delete(request.stream, request.expected);
      case 'tombstone':
        return this.tombstone(request.stream, request.expected);
    }
  }

  private append(name: string, expected: ExpectedRevision, events: readonly ProposedEvent[]): WriteOutcome {
    const stream = this.streams.get(name);
    const verdict = this.judge(stream, expected, events);
    if (verdict.kind !== 'append') return this.refuse(stream, verdict);
    const before = stream.head;
    const original = isMetastream(name) ? this.streams.get(originalOf(name)) : undefined;
    const revived = original && this.isSoftDeleted(original) ? original : undefined;
    for (const event of events) this.store(stream, stream.head + 1, event);
    const position = this.head;
    if (events.length > 0 && isMetastream(name)) this.adoptMetadata(name, events.at(-1));
    if (verdict.undelete) this.undelete(stream, before + 1);
    if (revived && events.length > 0) this.undelete(revived, revived.head + 1);
    return { kind: 'stored', revision: stream.head, position };
  }

  private delete(name: string, expected: ExpectedRevision): WriteOutcome {
    const stream = this.streams.get(name);
    const event = this.systemEvent(METADATA_TYPE, softDeletionMetadata());
    const verdict = this.judge(stream, expected, [event]);
    if (verdict.kind !== 'append') return this.refuse(stream, verdict);
    if (stream.head === NO_EVENTS && !this.streams.hasMetadata(name)) {
      return { kind: 'wrong-revision', current: NO_EVENTS };
    }
    this.storeMetadata(name, event);
    return { kind: 'stored', revision: stream.head, position: this.head };
  }

  private tombstone(name: string, expected: ExpectedRevision): WriteOutcome {
    const stream = this.streams.get(name);
    const event = { ...this.systemEvent(TOMBSTONE_TYPE, NOTHING), json: false };
    const verdict = this.judge(stream, expected, [event]);
    if (verdict.kind !== 'append') return this.refuse(stream, verdict);
    this.store(stream, STORED_TOMBSTONE, event);
    stream.tombstoned = true;
    if (!isMetastream(name)) this.streams.get(metastreamOf(name)).tombstoned = true;
    return { kind: 'stored', revision: stream.head, position: this.head };
  }

  private judge(stream: StreamState, expected: ExpectedRevision, events: readonly ProposedEvent[]): AppendVerdict {
    const ids: IdLookup = {
      recent: (id) => this.recent.revisionIn(stream.id, id),
      stored: (revision) => this.storedId(stream, revision),
    };
    return judgeAppend(expected, this.headOf(stream, expected), events, ids);
  }

  private headOf(stream: StreamState, expected: ExpectedRevision): StreamHead {
    return {
      head: stream.head,
      tombstoned: stream.tombstoned,
      softDeleted: this.isSoftDeleted(stream),
      hasMetadata: expected.kind === 'stream-exists' && this.streams.hasMetadata(stream.name),
    };
  }

  private isSoftDeleted(stream: StreamState): boolean {
    return this.streams.metadataOf(stream).softDeleted;
  }

  private refuse(stream: StreamState, verdict: Exclude<AppendVerdict, { kind: 'append' }>): WriteOutcome {
    if (verdict.kind !== 'already-stored') return verdict;
    const position = this.positionAt.get(stream.id, verdict.last)?.['position'] as number | undefined;
    return { kind: 'stored', revision: verdict.last, position: position ?? this.head };
  }

  private storedId(stream: StreamState, revision: number): string | undefined {
    const row = this.idAt.get(stream.id, revision);
    return row && uuidFromBytes(row['id'] as Uint8Array);
  }

  private store(stream: StreamState, revision: number, event: ProposedEvent): void {
    this.streams.ensureRow(stream);
    const { id, type, json, data, metadata } = event;
    const position = this.next;
    this.insert.run(position, stream.id, revision, this.now, json ? 1 : 0, uuidToBytes(id), type, data, metadata);
    if (revision !== STORED_TOMBSTONE) stream.head = revision;
    this.recent.remember(stream.id, revision, id);
    const recorded = { id, type, json, data, metadata, position, stream: stream.name, revision, created: this.now };
    this.written.push(recorded);
    this.head = position;
    this.next = nextPosition(recorded);
  }

  private storeMetadata(name: string, event: ProposedEvent): void {
    const metastream = this.streams.get(metastreamOf(name));
    this.store(metastream, metastream.head + 1, event);
    this.adoptMetadata(metastream.name, event);
  }

  private adoptMetadata(metastream: string, event: ProposedEvent | undefined): void {
    const stream = this.streams.get(originalOf(metastream));
    if (isMetastream(stream.name)) return;
    stream.metadata = event?.json ? parseStreamMetadata(event.data) : NO_METADATA;
  }

  /** Keeps the other metadata and moves `$tb` to where the stream begins again. */
  private undelete(stream: StreamState, from: number): void {
    const last = this.streams.lastEvent(this.streams.get(metastreamOf(stream.name)));
    const data = last && withTruncateBefore(last.data, from);
    if (data) this.storeMetadata(stream.name, this.systemEvent(METADATA_TYPE, data));
  }

  private systemEvent(type: string, data: Uint8Array): ProposedEvent {
    return { id: this.ids.next(), type, json: true, data, metadata: NOTHING };
  }

  private findEnd(): [head: number, next: number] {
    const row = this.last.get();
    if (!row) return [0, firstPosition()];
    const [position, type] = [row['position'] as number, row['type'] as string];
    const [data, metadata] = [row['data'] as Uint8Array, row['metadata'] as Uint8Array];
    return [position, nextPosition({ position, type, data, metadata })];
  }
}
