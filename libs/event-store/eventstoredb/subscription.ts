import { EventStoreUnavailable } from '../port.js';
import { Answers } from './answers.js';
import { within } from './patience.js';
import { subscribeRequest } from './requests.js';
import type { Millis, Random, Timers } from '#kernel';
import type { EventFilter, Position, RecordedEvent, Subscriber, Subscription } from '../port.js';
import type { Connection } from './connection.js';
import type { Reader } from './reader.js';
import type { AnswerDecoder } from './records.js';

export interface SubscriptionOptions {
  readonly after: Position;
  readonly filter: EventFilter | undefined;
  readonly timers: Timers;
  readonly random: Random;
  /** How long nothing may come before the log's head is looked at. */
  readonly idle: Millis;
  /** How long a connection may take to be made. */
  readonly timeout: Millis;
}

/** The pause before a lost subscription is made again: at least this, at most ten times as much. */
const RESUBSCRIBE_AFTER = 100;

/**
 * Follows the log through reconnects. Modes:
 *
 * - *Connecting*: from the last position told. Ends with a call, or with a pause and another try.
 * - *Following*: takes the answers in their order and waits for the subscriber. Ends when the call fails or ends, or when the
 *   watchdog finds an event that should have come; then it is *connecting* again, and the subscriber is told that it is
 *   interrupted until the next answer.
 * - While nothing comes for `idle` ms, the *watchdog* compares the head with the last position told. A matching event in
 *   between, seen twice, means that the call is dead without knowing it. None means that everything up to the head was
 *   considered, which the subscriber is told: a server's own checkpoints come only every so many events.
 *
 * `stop` and a fault of the subscriber end it in every mode; `failed` is told only for the latter.
 */
export class EventStoreSubscription implements Subscription {
  /** Everything up to here was told to the subscriber. */
  private position: Position;
  /** The log is known to reach at least to here. */
  private knownHead: Position;
  private stopping = false;
  private wake: (() => void) | undefined;
  private down = false;
  private toldCaughtUp = false;
  private overdue: Position | undefined;
  private failures = 0;
  private readonly ended: Promise<void>;

  constructor(
    private readonly connection: Connection,
    private readonly reader: Reader,
    private readonly decoder: AnswerDecoder,
    private readonly options: SubscriptionOptions,
    private readonly subscriber: Subscriber,
    onEnd: (subscription: EventStoreSubscription) => void,
  ) {
    this.position = options.after;
    this.knownHead = options.after;
    this.ended = this.run().finally(() => onEnd(this));
  }

  stop(): Promise<void> {
    this.stopping = true;
    this.wake?.();
    return this.ended;
  }

  private async run(): Promise<void> {
    await Promise.resolve();
    while (!this.stopping) {
      try {
        await this.follow();
      } catch (error) {
        if (error instanceof SubscriberFault) this.fail(error.reason);
        else await this.lost(error as Error);
      }
    }
  }

  private fail(reason: Error): void {
    if (!this.stopping) this.subscriber.failed?.(reason);
    this.stopping = true;
  }

  private async lost(error: Error): Promise<void> {
    if (this.stopping) return;
    this.toldCaughtUp = false;
    this.overdue = undefined;
    if (!this.down) this.subscriber.interrupted?.(true, error);
    this.down = true;
    const longest = RESUBSCRIBE_AFTER * Math.min(10, 2 ** this.failures);
    this.failures += 1;
    await this.pause(longest * (0.5 + this.options.random.next() / 2));
  }

  /** One call from its making to its end; throws when it is lost. */
  private async follow(): Promise<void> {
    const { timers, timeout, filter } = this.options;
    const connecting = within(timers, timeout, 'a connection', this.connection.channel());
    const channel = await this.unlessStopped(connecting);
    if (!channel) return;
    const call = channel.read(subscribeRequest(this.position, filter));
    try {
      await this.take(new Answers(call));
    } catch (error) {
      // The reader has told of its own failures.
      if (!(error instanceof SubscriberFault || error instanceof EventStoreUnavailable)) channel.failed(error as Error);
      throw error;
    } finally {
      call.cancel();
    }
  }

  private async take(answers: Answers): Promise<void> {
    while (!this.stopping) {
      const answer = answers.take();
      if (answer === 'ended') throw new Error('the server ended the subscription');
      if (answer) {
        this.whole();
        const told = this.hand(answer);
        if (told) await told;
      } else if ((await this.pauseBefore(answers)) === 'idle') await this.watch(answers);
    }
  }

  /** Any answer proves the call alive. */
  private whole(): void {
    this.connection.answered();
    this.failures = 0;
    this.overdue = undefined;
    if (!this.down) return;
    this.down = false;
    this.subscriber.interrupted?.(false);
  }

  private hand(answer: Buffer): void | Promise<void> {
    const { event, checkpoint, caughtUp } = this.decoder.decode(answer);
    if (event) return event.position > this.position ? this.deliver(event) : undefined;
    if (checkpoint !== undefined) return this.considered(checkpoint);
    if (caughtUp) return this.caughtUp();
  }

  private deliver(event: RecordedEvent): void | Promise<void> {
    const fault = (error: unknown): never => {
      throw new SubscriberFault(error);
    };
    const passed = (): void => void (this.position = event.position);
    let told: void | Promise<void>;
    try {
      told = this.subscriber.event(event);
    } catch (error) {
      return fault(error);
    }
    return told ? told.then(passed, fault) : passed();
  }

  /** A server's checkpoint may lie beyond the newest event; a stored position must not, so the head bounds it. */
  private async considered(position: Position): Promise<void> {
    if (position <= this.position) return;
    if (position > this.knownHead) {
      const head = await this.unlessStopped(this.reader.headNow().catch(() => undefined));
      this.knownHead = head ?? this.knownHead;
    }
    await this.checkpoint(position < this.knownHead ? position : this.knownHead);
  }

  private async checkpoint(position: Position): Promise<void> {
    if (position <= this.position || this.stopping) return;
    await this.tell(() => this.subscriber.checkpoint?.(position));
    this.position = position;
  }

  private async caughtUp(): Promise<void> {
    if (this.toldCaughtUp || this.stopping) return;
    this.toldCaughtUp = true;
    await this.tell(() => this.subscriber.caughtUp?.());
  }

  /** What arrives meanwhile makes the look needless. */
  private async watch(answers: Answers): Promise<void> {
    const seen = await this.unlessStopped(Promise.race([this.look(), answers.more().then(() => undefined)]));
    if (!seen) return;
    this.knownHead = seen.head;
    if (seen.missing === undefined) {
      this.whole();
      await this.checkpoint(seen.head);
      await this.caughtUp();
      return;
    }
    // Once may be on its way; twice without an answer in between is lost.
    if (this.overdue === seen.missing) throw new Error(`the event at ${seen.missing} did not come`);
    this.overdue = seen.missing;
  }

  /** The log's head, and the first event up to it that was not delivered. */
  private async look(): Promise<{ head: Position; missing: Position | undefined }> {
    const head = await this.reader.headNow();
    if (head <= this.position) return { head, missing: undefined };
    for await (const event of this.reader.all(this.position, head, this.options.filter)) {
      return { head, missing: event.position };
    }
    return { head, missing: undefined };
  }

  /** The promise's value, or undefined as soon as `stop` is called. */
  private unlessStopped<Value>(promise: Promise<Value>): Promise<Value | undefined> {
    if (this.stopping) {
      promise.catch(() => undefined);
      return Promise.resolve(undefined);
    }
    return new Promise((resolve, reject) => {
      this.wake = () => resolve(undefined);
      promise.then(resolve, reject);
    });
  }

  private async tell(act: () => void | Promise<void>): Promise<void> {
    if (this.stopping) return;
    try {
      await act();
    } catch (error) {
      throw new SubscriberFault(error);
    }
  }

  /** Until there are more answers, or the call is lost; `idle` when nothing came for so long. */
  private pauseBefore(answers: Answers): Promise<'more' | 'idle' | 'stopped'> {
    return new Promise((resolve) => {
      const timer = this.options.timers.after(this.options.idle, () => resolve('idle'));
      const end = (why: 'more' | 'stopped'): void => {
        timer.cancel();
        resolve(why);
      };
      this.wake = () => end('stopped');
      void answers.more().then(() => end('more'));
    });
  }

  private async pause(span: Millis): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = this.options.timers.after(span, resolve);
      this.wake = () => {
        timer.cancel();
        resolve();
      };
    });
  }
}

/** Tells the subscriber's own fault from one of the connection. */
class SubscriberFault extends Error {
  readonly reason: Error;
  constructor(cause: unknown) {
    super('the subscriber failed');
    this.reason = cause instanceof Error ? cause : new Error(String(cause));
  }
}
