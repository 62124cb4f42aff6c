import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Clock, Millis, Timers } from '#kernel';
import type { RecordedEvent } from './record.js';
import type { WriteOutcome, WriteRequest } from './write.js';
import type { LogWriter } from './writer.js';

/** A write that waits for its turn. Exactly one of `settle` and `fail` is called, once. */
export interface PendingWrite {
  readonly request: WriteRequest;
  /** Bytes it holds in memory. */
  readonly bytes: number;
  /** After this time it must not be stored any more. */
  readonly expiresAt?: Millis;
  /** True when its caller has left. */
  readonly abandoned?: () => boolean;
  /** Its outcome; `stored` is only said after the commit is on disk. */
  settle(outcome: WriteOutcome): void;
  /** The commit failed (disk full, I/O error); whether anything was stored is known to be no. */
  fail(error: Error): void;
}

const GATHER_MS = 1;
const LARGE_GROUP = 2;
const GROUP_WRITES = 1024;
const GROUP_BYTES = 8 * 1024 * 1024;
/** Waiting writes above this make callers hold back, below half of it they go on. */
const FULL_BYTES = 32 * 1024 * 1024;
const FULL_WRITES = 16_384;

/**
 * Gathers writes and commits them together, because one flush to disk costs as much for one append as for hundreds.
 *
 * Idle: nothing waits. The first write schedules a commit: at once (after the messages that have already arrived) when
 * the last group was small, after 1 ms when it held more than two writes, since more are then likely on their way.
 * Scheduled: further writes just join the queue. Committing: synchronous, so nothing joins; every write is judged and
 * inserted in one transaction, then flushed, then subscribers see the events, then the callers get their answers.
 * Writes beyond the size of one group are committed in the next turn of the event loop. Ends with `drained`.
 */
export class CommitQueue {
  private waiting: PendingWrite[] = [];
  private bytes = 0;
  private scheduled = false;
  private lastGroup = 0;
  private readonly onIdle: (() => void)[] = [];
  private readonly onRoom: (() => void)[] = [];
  private readonly statements: Record<'begin' | 'commit' | 'rollback', StatementSync>;

  constructor(
    private readonly database: DatabaseSync,
    private readonly writer: LogWriter,
    private readonly clock: Clock,
    private readonly timers: Timers,
    private readonly publish: (events: readonly RecordedEvent[]) => void,
  ) {
    this.statements = {
      begin: database.prepare('BEGIN IMMEDIATE'),
      commit: database.prepare('COMMIT'),
      rollback: database.prepare('ROLLBACK'),
    };
  }

  push(write: PendingWrite): void {
    this.waiting.push(write);
    this.bytes += write.bytes;
    this.schedule();
  }

  /** Callers should stop taking more in until `room` resolves. */
  get full(): boolean {
    return this.bytes > FULL_BYTES || this.waiting.length > FULL_WRITES;
  }

  room(): Promise<void> {
    return this.full ? new Promise((resolve) => this.onRoom.push(resolve)) : Promise.resolve();
  }

  /** Resolves when nothing waits any more. */
  drained(): Promise<void> {
    return this.scheduled ? new Promise((resolve) => this.onIdle.push(resolve)) : Promise.resolve();
  }

  private schedule(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    const commit = (): void => this.commitGroup();
    if (this.lastGroup > LARGE_GROUP) this.timers.after(GATHER_MS, commit);
    else setImmediate(commit);
  }

  private commitGroup(): void {
    const group = this.takeGroup();
    this.lastGroup = group.length;
    const outcomes = this.commit(group);
    if (outcomes) this.announce(group, outcomes);
    this.goOn();
  }

  private announce(group: readonly PendingWrite[], outcomes: readonly WriteOutcome[]): void {
    const events = this.writer.take();
    if (events.length > 0) this.publish(events);
    for (const [index, write] of group.entries()) write.settle(outcomes[index] as WriteOutcome);
  }

  private goOn(): void {
    if (this.waiting.length > 0) setImmediate(() => this.commitGroup());
    else this.scheduled = false;
    if (this.bytes < FULL_BYTES / 2 && this.waiting.length < FULL_WRITES / 2) call(this.onRoom);
    if (!this.scheduled) call(this.onIdle);
  }

  private takeGroup(): readonly PendingWrite[] {
    let bytes = 0;
    let count = 0;
    for (const write of this.waiting) {
      if (count > 0 && (bytes + write.bytes > GROUP_BYTES || count >= GROUP_WRITES)) break;
      bytes += write.bytes;
      count += 1;
    }
    this.bytes -= bytes;
    return this.waiting.splice(0, count);
  }

  /** The outcomes in the order of the group, or undefined when the transaction failed and all were told so. */
  private commit(group: readonly PendingWrite[]): readonly WriteOutcome[] | undefined {
    try {
      this.writer.begin();
      this.statements.begin.run();
      const now = this.clock.now();
      const outcomes = group.map((write) => this.judge(write, now));
      this.statements.commit.run();
      return outcomes;
    } catch (error) {
      this.undo();
      for (const write of group) write.fail(error as Error);
      return undefined;
    }
  }

  private judge(write: PendingWrite, now: Millis): WriteOutcome {
    const late = write.expiresAt !== undefined && write.expiresAt <= now;
    if (late || write.abandoned?.()) return { kind: 'expired' };
    return this.writer.write(write.request);
  }

  private undo(): void {
    if (this.database.isTransaction) this.statements.rollback.run();
    this.writer.forget();
  }
}

const call = (waiters: (() => void)[]): void => {
  for (const waiter of waiters.splice(0)) waiter();
};
