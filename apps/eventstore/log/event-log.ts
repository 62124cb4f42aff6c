import type { DatabaseSync } from 'node:sqlite';
import type { Clock, Ids, Timers } from '#kernel';
import { CommitQueue } from './commit-queue.js';
import type { PendingWrite } from './commit-queue.js';
import { openDatabase } from './database.js';
import { LogReader } from './reader.js';
import { RecentIds } from './recent-ids.js';
import type { RecordedEvent } from './record.js';
import { parseSystemSettings } from './stream-metadata.js';
import type { StreamMetadata, SystemSettings } from './stream-metadata.js';
import { StreamTable } from './streams.js';
import { LogWriter } from './writer.js';

export interface EventLogPorts {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly ids: Ids;
}

const STREAMS_IN_MEMORY = 50_000;
const IDS_IN_MEMORY = 100_000;
const SETTINGS_STREAM = '$settings';

/** The log of one file: durable writes in groups, bounded reads, and word of every commit. */
export class EventLog {
  readonly reader: LogReader;
  private readonly streams: StreamTable;
  private readonly writer: LogWriter;
  private readonly queue: CommitQueue;
  private readonly listeners = new Set<(events: readonly RecordedEvent[]) => void>();

  private constructor(
    private readonly database: DatabaseSync,
    { clock, timers, ids }: EventLogPorts,
  ) {
    this.streams = new StreamTable(database, STREAMS_IN_MEMORY);
    this.writer = new LogWriter(database, this.streams, new RecentIds(IDS_IN_MEMORY), clock, ids);
    this.reader = new LogReader(database, this.streams, clock);
    this.queue = new CommitQueue(database, this.writer, clock, timers, (events) => this.publish(events));
  }

  /** @throws LogFileError when the file is held by another process or is not an intact log. */
  static open(file: string, ports: EventLogPorts): EventLog {
    return new EventLog(openDatabase(file), ports);
  }

  /** Position of the last event, 0 in an empty log. */
  get headPosition(): number {
    return this.writer.headPosition;
  }

  /** Revision of the last event of a stream, −1 if it never had one. */
  headOf(stream: string): number {
    return this.streams.get(stream).head;
  }

  metadataOf(stream: string): StreamMetadata {
    return this.streams.metadataOf(this.streams.get(stream));
  }

  settings(): SystemSettings {
    const last = this.streams.lastEvent(this.streams.get(SETTINGS_STREAM));
    return last?.json ? parseSystemSettings(last.data) : {};
  }

  write(write: PendingWrite): void {
    this.queue.push(write);
  }

  /** True while so much waits to be committed that callers should take nothing more in. */
  get full(): boolean {
    return this.queue.full;
  }

  /** Resolves when callers may go on. */
  room(): Promise<void> {
    return this.queue.room();
  }

  /** Calls `listener` with the events of each commit, in order, right after it reached the disk. */
  onCommit(listener: (events: readonly RecordedEvent[]) => void): void {
    this.listeners.add(listener);
  }

  /** Resolves when nothing waits to be committed. */
  drained(): Promise<void> {
    return this.queue.drained();
  }

  /** Waits for what is queued, then folds the write-ahead file into the log and lets go of it. */
  async close(): Promise<void> {
    await this.queue.drained();
    this.database.close();
  }

  private publish(events: readonly RecordedEvent[]): void {
    for (const listener of this.listeners) listener(events);
  }
}
