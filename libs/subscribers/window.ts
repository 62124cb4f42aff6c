import { START } from '#event-store';
import type { Position } from '#event-store';
import type { Millis } from '#kernel';

/** An event on its way. */
export interface Entry {
  /** Milliseconds since 1970. */
  readonly recordedAt: Millis;
  /** How many events came before it. */
  readonly number: number;
  /** Everything up to here had been read when it came. */
  readonly after: Position;
}

/** What was read of the log and is not delivered yet. Deliveries end in any order. */
export class Window {
  /** In the order of the log. */
  private readonly open = new Set<Entry>();
  private read: Position = START;
  private count = 0;

  /** Everything up to here is delivered, or was passed over: a restart may go on from here. */
  get position(): Position {
    return this.oldest?.after ?? this.read;
  }

  /** Events that are open. */
  get size(): number {
    return this.open.size;
  }

  /** Events that came since the oldest open one, itself counted. */
  get ahead(): number {
    return this.oldest ? this.count - this.oldest.number : 0;
  }

  get oldest(): Entry | undefined {
    const [oldest] = this.open;
    return oldest;
  }

  add(position: Position, recordedAt: Millis): Entry {
    const entry = { recordedAt, number: this.count, after: this.read };
    this.open.add(entry);
    this.count += 1;
    this.pass(position);
    return entry;
  }

  /** Everything up to here was read. */
  pass(position: Position): void {
    if (position > this.read) this.read = position;
  }

  end(entry: Entry): void {
    this.open.delete(entry);
  }
}
