import { matchesFilter } from '../filter.js';
import type { Millis, Timers } from '#kernel';
import type { EventFilter, Position, RecordedEvent, Subscriber, Subscription } from '../port.js';
import type { MemoryFaults } from './faults.js';
import type { MemoryLog } from './log.js';

/** A checkpoint is told after this many events that did not match, as the real server's default does. */
const CHECKPOINT_EVERY = 32;

export interface MemorySubscriptionOptions {
  readonly after: Position;
  readonly filter: EventFilter | undefined;
  readonly faults: MemoryFaults;
  readonly timers: Timers;
}

/**
 * Follows the log. Two modes. *Catching up* delivers what is stored beyond the cursor, one event at a time, waiting for
 * each handler; it ends at the end of the log, where the subscriber is told a checkpoint (if events were passed over) and,
 * the first time, that it has caught up. *Waiting* then lasts until the log grows. An interruption puts it back to
 * catching up. `stop`, a handler's fault and a crash of the store end both.
 */
export class MemorySubscription implements Subscription {
  private stopped = false;
  private wake: (() => void) | undefined;
  private index: number;
  private toldCaughtUp = false;
  /** Events passed over since the subscriber was last told a position. */
  private skipped = 0;
  private outage: Millis | undefined;
  private readonly ended: Promise<void>;
  private readonly unwatch: () => void;

  constructor(
    private readonly log: MemoryLog,
    private readonly options: MemorySubscriptionOptions,
    private readonly subscriber: Subscriber,
    private readonly onEnd: (subscription: MemorySubscription) => void,
  ) {
    this.index = log.indexAfter(options.after);
    this.unwatch = log.watch(() => this.wake?.());
    this.ended = this.run();
  }

  stop(): Promise<void> {
    this.cut();
    return this.ended;
  }

  /** As `stop`, without waiting for the handler under way. */
  cut(): void {
    this.stopped = true;
    this.unwatch();
    this.wake?.();
  }

  /** The connection is lost now, or after the handler under way, and whole again after `outage`. */
  cutOff(outage: Millis): void {
    this.outage = outage;
    this.wake?.();
  }

  private async run(): Promise<void> {
    try {
      await Promise.resolve();
      while (!this.stopped) {
        if (this.outage !== undefined) await this.sitOut(this.outage);
        const event = this.log.events[this.index];
        if (event) await this.consider(event);
        else await this.atEnd();
      }
    } catch (error) {
      if (!this.stopped) this.subscriber.failed?.(error instanceof Error ? error : new Error(String(error)));
    } finally {
      this.cut();
      this.onEnd(this);
    }
  }

  private async sitOut(outage: Millis): Promise<void> {
    this.outage = undefined;
    await this.interrupt(outage);
  }

  private async consider(event: RecordedEvent): Promise<void> {
    if (!matchesFilter(event.stream, this.options.filter)) {
      this.index += 1;
      this.skipped += 1;
      if (this.skipped >= CHECKPOINT_EVERY) await this.checkpoint(event.position);
      return;
    }
    const fault = this.options.faults.delivery?.(event);
    if (fault?.kind === 'interrupt') await this.interrupt(fault.outage);
    if (fault?.kind === 'delay') await this.pause(fault.by);
    if (fault?.kind === 'twice' && !this.stopped) await this.subscriber.event(event);
    if (this.stopped) return;
    this.index += 1;
    this.skipped = 0;
    await this.subscriber.event(event);
  }

  private async atEnd(): Promise<void> {
    const last = this.log.events[this.index - 1];
    if (last && this.skipped > 0) return this.checkpoint(last.position);
    if (!this.toldCaughtUp) {
      this.toldCaughtUp = true;
      await this.subscriber.caughtUp?.();
      return;
    }
    await new Promise<void>((resolve) => (this.wake = resolve));
    this.wake = undefined;
  }

  private async checkpoint(position: Position): Promise<void> {
    this.skipped = 0;
    await this.subscriber.checkpoint?.(position);
  }

  private async interrupt(outage: number): Promise<void> {
    this.subscriber.interrupted?.(true, new Error('the connection to the event store was lost'));
    await this.pause(outage);
    if (this.stopped) return;
    this.subscriber.interrupted?.(false);
    this.toldCaughtUp = false;
  }

  /** Waits for a span, or until the subscription is stopped. */
  private async pause(span: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = this.options.timers.after(span, resolve);
      this.wake = () => {
        if (!this.stopped) return;
        timer.cancel();
        resolve();
      };
    });
    this.wake = undefined;
  }
}
