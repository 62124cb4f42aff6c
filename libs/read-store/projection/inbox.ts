import { START } from '#event-store';
import type { Position, RecordedEvent } from '#event-store';

/** Events to apply, and the position up to which everything was considered once they are. */
export interface Delivery {
  readonly events: readonly RecordedEvent[];
  readonly upTo: Position;
}

/** What the subscription has delivered and the projections have not taken yet; bounded, so that memory is. */
export class Inbox {
  private waiting: RecordedEvent[] = [];
  private considered: Position = START;
  private taken: Position = START;
  private closed = false;
  private nudged = false;
  private onWork: (() => void) | undefined;
  private onRoom: (() => void) | undefined;

  /** `limit`: events that may wait before `put` holds the subscription back. */
  constructor(private readonly limit: number) {}

  get size(): number {
    return this.waiting.length;
  }

  put(event: RecordedEvent): void | Promise<void> {
    this.waiting.push(event);
    this.onWork?.();
    if (this.waiting.length < this.limit || this.closed) return;
    return new Promise((resolve) => (this.onRoom = resolve));
  }

  /** Everything up to here was considered. */
  passed(position: Position): void {
    if (position > this.considered) this.considered = position;
    this.onWork?.();
  }

  /** The next delivery of at most `most` events, as soon as there is one; undefined when the inbox is closed. */
  async take(most: number): Promise<Delivery | undefined> {
    while (!this.closed && !this.nudged && this.waiting.length === 0 && this.considered <= this.taken) {
      await new Promise<void>((resolve) => (this.onWork = resolve));
      this.onWork = undefined;
    }
    this.nudged = false;
    if (this.closed) return undefined;
    const events = this.waiting.length <= most ? this.waiting : this.waiting.slice(0, most);
    this.waiting = this.waiting.length <= most ? [] : this.waiting.slice(most);
    if (this.waiting.length < this.limit) this.onRoom?.();
    const last = events.at(-1)?.position ?? START;
    const upTo = this.waiting.length === 0 && this.considered > last ? this.considered : last;
    if (upTo > this.taken) this.taken = upTo;
    return { events, upTo: this.taken };
  }

  /** Makes a waiting `take` answer, with no events if there are none. */
  nudge(): void {
    this.nudged = true;
    this.onWork?.();
  }

  /** Ends a waiting `take` and lets go of a subscription that is held back. */
  close(): void {
    this.closed = true;
    this.onWork?.();
    this.onRoom?.();
  }
}
