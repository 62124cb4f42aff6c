import { START } from '#event-store';
import type { Millis, Timers } from '#kernel';
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
  /** Somebody waits for everything up to here. */
  private wanted: Position = START;
  private closed = false;
  private nudged = false;
  private onWork: (() => void) | undefined;
  private onRoom: (() => void) | undefined;
  private onDue: (() => void) | undefined;

  /** `limit`: events that may wait before `put` holds the subscription back. */
  constructor(private readonly limit: number) {}

  get size(): number {
    return this.waiting.length;
  }

  put(event: RecordedEvent): void | Promise<void> {
    this.waiting.push(event);
    this.tell();
    if (this.waiting.length < this.limit || this.closed) return;
    return new Promise((resolve) => (this.onRoom = resolve));
  }

  /** Everything up to here was considered. */
  passed(position: Position): void {
    if (position > this.considered) this.considered = position;
    this.tell();
  }

  /** Somebody waits for everything up to the position: what gathers is due as soon as that is here. */
  want(position: Position): void {
    if (position > this.wanted) this.wanted = position;
    this.tell();
  }

  /** Resolves after `span` milliseconds, or before when what waits is due: wanted, or half of the limit. */
  async gather(timers: Timers, span: Millis): Promise<void> {
    if (this.due) return;
    await new Promise<void>((resolve) => {
      const timer = timers.after(span, resolve);
      this.onDue = () => {
        timer.cancel();
        resolve();
      };
    });
    this.onDue = undefined;
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
    this.tell();
  }

  /** Ends a waiting `take` and lets go of a subscription that is held back. */
  close(): void {
    this.closed = true;
    this.tell();
    this.onRoom?.();
  }

  private get due(): boolean {
    if (this.closed || this.nudged || this.waiting.length >= this.limit / 2) return true;
    const last = this.waiting.at(-1)?.position ?? START;
    return this.wanted > this.taken && (last >= this.wanted || this.considered >= this.wanted);
  }

  private tell(): void {
    this.onWork?.();
    if (this.due) this.onDue?.();
  }
}
