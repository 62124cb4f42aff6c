import { START } from '#event-store';
import type { EventFilter, EventStore, Position, RecordedEvent, Subscription } from '#event-store';
import { pause } from '#kernel';
import type { Clock, Millis, Random, Timers } from '#kernel';
import type { Deliver, SubscriberObserver, SubscriberPositions, SubscriberStatus } from './ports.js';
import { Slots } from './slots.js';
import { Window } from './window.js';

export interface DurableSubscriberOptions {
  /** The position is kept under it. */
  readonly name: string;
  readonly store: Pick<EventStore, 'subscribe' | 'head'>;
  readonly positions: SubscriberPositions;
  readonly deliver: Deliver;
  readonly filter: EventFilter;
  /** The other events are passed over. */
  readonly wants: (event: RecordedEvent) => boolean;
  /** Where one begins that was never seen before. */
  readonly from: 'start' | 'now';
  /** Deliveries under way at once. */
  readonly concurrency: number;
  /** Failures of one delivery in a row after which it is given up; undefined: never. */
  readonly giveUpAfter?: number | undefined;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly observer: SubscriberObserver;
}

/** Events that wait for their delivery at most, and how far reading may be ahead of the oldest; the rest waits in the log. */
const MOST_WAITING = 1_000;
const MOST_AHEAD = 10_000;
const FIRST_DELAY: Millis = 1_000;
const LONGEST_DELAY: Millis = 60_000;
/** Between two writes of the position. */
const SAVE_INTERVAL: Millis = 500;
const AGAIN: Millis = 1_000;
/** How long deliveries under way may take to end when it stops. */
const LAST_WORDS: Millis = 3_000;

/**
 * Follows the log and hands events to a subscriber: each at least once, those of one stream in their order and one at a time.
 *
 * Modes. *Looking*: from `start` until it is known where to go on; the store of positions is asked again each second.
 * *Following*: events are read as far ahead as the window allows and delivered side by side, one lane for each stream. One
 * that fails is tried again after a pause that doubles from 1 s to 60 s, for ever unless told otherwise; its lane waits for
 * it, other lanes go on, and the position stays before it. *Stopped*: `stop` ends reading and pauses, gives the
 * deliveries under way 3 s, and writes the position; what was not delivered comes again after the next start.
 */
export class DurableSubscriber {
  private readonly window = new Window();
  private readonly lanes = new Map<string, Promise<void>>();
  private readonly slots: Slots;
  private readonly ending = new AbortController();
  private readonly cutting = new AbortController();
  private following: Promise<void> | undefined;
  private subscription: Subscription | undefined;
  private saved: Position = START;
  private failing = 0;
  private room: (() => void) | undefined;

  constructor(private readonly options: DurableSubscriberOptions) {
    this.slots = new Slots(options.concurrency);
  }

  start(): void {
    this.following ??= this.follow();
  }

  async stop(): Promise<void> {
    this.ending.abort();
    this.room?.();
    const cut = this.options.timers.after(LAST_WORDS, () => this.cutting.abort());
    await this.following;
    await this.subscription?.stop();
    await Promise.all(this.lanes.values());
    cut.cancel();
    await this.save();
  }

  get status(): SubscriberStatus {
    const { name, clock } = this.options;
    const { position, size, oldest } = this.window;
    const behind = oldest ? Math.max(0, clock.now() - oldest.recordedAt) : 0;
    return { name, position, waiting: size, behind, failing: this.failing };
  }

  private async follow(): Promise<void> {
    const after = await this.firstPosition();
    if (after === undefined) return;
    this.window.pass(after);
    this.saved = after;
    const { store, filter } = this.options;
    this.subscription = store.subscribe(
      { after, filter },
      { event: (event) => this.take(event), checkpoint: (position) => this.pass(position) },
    );
    void this.keepPosition();
  }

  /** Undefined when stopped before it was known. A first position is stored at once, so that a crash does not move it on. */
  private async firstPosition(): Promise<Position | undefined> {
    const { name, positions, store, from, observer, timers } = this.options;
    while (!this.isStopped()) {
      try {
        const known = await positions.load(name);
        if (known !== undefined) return known;
        const first = from === 'start' ? START : await store.head();
        await positions.save(name, first);
        return first;
      } catch (error) {
        observer.trouble?.(name, error);
        await pause(timers, AGAIN, this.ending.signal);
      }
    }
    return undefined;
  }

  /** After the stop events are read and not taken: nothing behind them counts as delivered. */
  private pass(position: Position): void {
    if (!this.isStopped()) this.window.pass(position);
  }

  private async take(event: RecordedEvent): Promise<void> {
    if (this.isStopped()) return;
    if (!this.options.wants(event)) {
      this.window.pass(event.position);
      return;
    }
    const entry = this.window.add(event.position, event.recordedAt);
    const before = this.lanes.get(event.stream) ?? Promise.resolve();
    const lane = before.then(async () => {
      if (await this.insist(event)) this.window.end(entry);
      if (this.lanes.get(event.stream) === lane) this.lanes.delete(event.stream);
      this.room?.();
    });
    this.lanes.set(event.stream, lane);
    while (this.isFull && !this.isStopped()) await new Promise<void>((resolve) => (this.room = resolve));
    this.room = undefined;
  }

  private isStopped(): boolean {
    return this.ending.signal.aborted;
  }

  private get isFull(): boolean {
    return this.window.size >= MOST_WAITING || this.window.ahead >= MOST_AHEAD;
  }

  /** Whether the event is dealt with; false when stopped before. A pause between two tries holds no slot. */
  private async insist(event: RecordedEvent): Promise<boolean> {
    const { timers } = this.options;
    const { signal } = this.ending;
    for (let failures = 0; !this.isStopped();) {
      const error = await this.slots.run(() => this.tryOnce(event));
      if (error === undefined) return true;
      if (this.isStopped()) return false;
      failures += 1;
      const delay = this.afterFailure(event, error, failures);
      if (delay === undefined) return true;
      this.failing += 1;
      await pause(timers, delay, signal);
      this.failing -= 1;
    }
    return false;
  }

  private async tryOnce(event: RecordedEvent): Promise<unknown> {
    const { name, deliver, observer } = this.options;
    if (this.isStopped()) return new Error('stopped');
    try {
      await deliver(event, this.cutting.signal);
      observer.delivered?.(name);
      return undefined;
    } catch (error) {
      return error ?? new Error('the delivery failed');
    }
  }

  /** When to try again; undefined when it is given up. */
  private afterFailure(event: RecordedEvent, error: unknown, failures: number): Millis | undefined {
    const { name, giveUpAfter, observer, random } = this.options;
    if (giveUpAfter !== undefined && failures >= giveUpAfter) {
      observer.gaveUp?.(name, event, error, failures);
      return undefined;
    }
    // Half of it by chance, so that what failed together does not come again together.
    const span = Math.min(LONGEST_DELAY, FIRST_DELAY * 2 ** Math.min(failures - 1, 10));
    const delay = span * (0.5 + random.next() / 2);
    observer.failed?.(name, event, error, failures, delay);
    return delay;
  }

  private async keepPosition(): Promise<void> {
    while (!this.isStopped()) {
      await pause(this.options.timers, SAVE_INTERVAL, this.ending.signal);
      await this.save();
    }
  }

  private async save(): Promise<void> {
    const { name, positions, observer } = this.options;
    const { position } = this.window;
    if (position <= this.saved) return;
    try {
      await positions.save(name, position);
      if (position > this.saved) this.saved = position;
    } catch (error) {
      observer.trouble?.(name, error);
    }
  }
}
