import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { NO_EVENTS, STORED_TOMBSTONE } from './record.js';
import {
  METASTREAM_METADATA,
  NO_METADATA,
  isMetastream,
  metastreamOf,
  originalOf,
  parseStreamMetadata,
} from './stream-metadata.js';
import type { StreamMetadata } from './stream-metadata.js';

/** What this process knows of one stream. Changed only by the writer, inside the transaction that changes the log. */
export interface StreamState {
  readonly name: string;
  /** Row of the stream; 0 while it has none. */
  id: number;
  head: number;
  tombstoned: boolean;
  /** Loaded when first asked for. */
  metadata: StreamMetadata | undefined;
}

/** Heads and metadata of the streams used last, read from the log when they are not in memory. */
export class StreamTable {
  private readonly states = new Map<string, StreamState>();
  private readonly findId: StatementSync;
  private readonly findHead: StatementSync;
  private readonly findTombstone: StatementSync;
  private readonly insert: StatementSync;
  private readonly readLast: StatementSync;

  /** @param limit streams kept in memory, at least 1. */
  constructor(
    database: DatabaseSync,
    private readonly limit: number,
  ) {
    this.findId = database.prepare('SELECT id FROM streams WHERE name = ?');
    this.findHead = database.prepare('SELECT max(revision) AS head FROM events WHERE stream = ?');
    this.findTombstone = database.prepare(`SELECT 1 FROM events WHERE stream = ? AND revision = ${STORED_TOMBSTONE}`);
    this.insert = database.prepare('INSERT INTO streams (name) VALUES (?)');
    this.readLast = database.prepare(
      'SELECT json, data FROM events WHERE stream = ? AND revision >= 0 ORDER BY revision DESC LIMIT 1',
    );
  }

  /** The state of a stream, whether it exists or not. A metadata stream is tombstoned with the stream it is about. */
  get(name: string): StreamState {
    const known = this.states.get(name);
    if (known) this.states.delete(name);
    const state = known ?? this.load(name);
    this.states.set(name, state);
    if (this.states.size > this.limit) this.states.delete(this.states.keys().next().value ?? name);
    return state;
  }

  metadataOf(state: StreamState): StreamMetadata {
    state.metadata ??= isMetastream(state.name) ? METASTREAM_METADATA : this.loadMetadata(state.name);
    return state.metadata;
  }

  hasMetadata(name: string): boolean {
    return this.get(metastreamOf(name)).head !== NO_EVENTS;
  }

  /** Bytes of the last event of a stream; undefined when it has none. */
  lastEvent(state: StreamState): { json: boolean; data: Uint8Array } | undefined {
    const row = state.id === 0 ? undefined : this.readLast.get(state.id);
    return row && { json: row['json'] === 1, data: row['data'] as Uint8Array };
  }

  /** Gives the stream its row. Only inside a transaction. */
  ensureRow(state: StreamState): void {
    if (state.id === 0) state.id = Number(this.insert.run(state.name).lastInsertRowid);
  }

  /** Forgets everything, after a transaction that was rolled back. */
  clear(): void {
    this.states.clear();
  }

  private load(name: string): StreamState {
    const state: StreamState = { name, id: 0, head: NO_EVENTS, tombstoned: false, metadata: undefined };
    const row = this.findId.get(name);
    if (row) {
      state.id = row['id'] as number;
      state.head = Math.max((this.findHead.get(state.id)?.['head'] as number | null) ?? NO_EVENTS, NO_EVENTS);
      state.tombstoned = this.findTombstone.get(state.id) !== undefined;
    }
    if (isMetastream(name)) state.tombstoned ||= this.get(originalOf(name)).tombstoned;
    return state;
  }

  private loadMetadata(name: string): StreamMetadata {
    const meta = this.get(metastreamOf(name));
    if (meta.tombstoned) return NO_METADATA;
    const last = this.lastEvent(meta);
    return last?.json ? parseStreamMetadata(last.data) : NO_METADATA;
  }
}
