import { isEventType } from '#contracts';
import type { EventStore, RecordedEvent } from '#event-store';
import { systemRandom } from '#kernel';
import type { Clock, Timers } from '#kernel';
import type { Logger } from '#platform/logging';
import { LeaderLock } from '#read-store';
import { DurableSubscriber, hookCommand, messageOf, webhook } from '#subscribers';
import type {
  ConfiguredSubscriber,
  Deliver,
  SubscriberObserver,
  SubscriberPositions,
  SubscriberStatus,
} from '#subscribers';

export interface SubscribersParts {
  readonly configured: readonly ConfiguredSubscriber[];
  readonly databaseUrl: string;
  readonly store: EventStore;
  readonly positions: SubscriberPositions;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Logger;
  readonly observer: Pick<SubscriberObserver, 'delivered' | 'failed' | 'gaveUp'>;
}

const LOCK = 'subscribers';
/** A delivery that fails again and again is told of at its first failure and then at each so many. */
const TOLD_EVERY = 10;

/**
 * Tells the configured subscribers, from whichever process holds their lock in Postgres: two that both believe to hold it
 * tell some things twice, which a subscriber must bear in any case.
 *
 * *Standing by* until the lock is had; *telling* until it is lost; `stop` ends both.
 */
export class Subscribers {
  private readonly lock: LeaderLock | undefined;
  private running: readonly DurableSubscriber[] = [];
  private changing: Promise<void> = Promise.resolve();

  constructor(private readonly parts: SubscribersParts) {
    const { configured, databaseUrl, timers, log } = parts;
    if (configured.length === 0) return;
    this.lock = new LeaderLock({
      url: databaseUrl,
      name: LOCK,
      timers,
      onAcquired: () => void this.change(() => this.begin()),
      onLost: (cause) => {
        log.warn({ err: cause }, 'another process may tell the subscribers now');
        void this.change(() => this.end());
      },
    });
  }

  start(): void {
    this.lock?.start();
  }

  async stop(): Promise<void> {
    await this.change(() => this.end());
    await this.lock?.stop();
  }

  /** Of the subscribers that this process tells. */
  get statuses(): readonly SubscriberStatus[] {
    return this.running.map(({ status }) => status);
  }

  /** Beginnings and ends follow each other, whatever the lock does meanwhile. */
  private change(step: () => Promise<void>): Promise<void> {
    this.changing = this.changing.then(step);
    return this.changing;
  }

  private begin(): Promise<void> {
    this.running = this.parts.configured.map((one) => this.subscriber(one));
    for (const subscriber of this.running) subscriber.start();
    return Promise.resolve();
  }

  private async end(): Promise<void> {
    await Promise.all(this.running.map((subscriber) => subscriber.stop()));
    this.running = [];
  }

  private subscriber(configured: ConfiguredSubscriber): DurableSubscriber {
    const { store, positions, clock, timers } = this.parts;
    const { name, from, giveUpAfter, concurrency } = configured;
    const events = new Set(configured.events);
    return new DurableSubscriber({
      ...{ name, store, positions, from, giveUpAfter, concurrency, clock, timers },
      random: systemRandom,
      deliver: deliveryTo(configured, timers),
      filter: { streamPrefixes: [...new Set(configured.events.map(prefixOf))] },
      wants: ({ type }) => events.has(type),
      observer: this.observer(),
    });
  }

  private observer(): SubscriberObserver {
    const { log, observer } = this.parts;
    const about = (name: string, { type, stream, id }: RecordedEvent) => ({ subscriber: name, type, stream, id });
    return {
      delivered: (name) => observer.delivered?.(name),
      failed: (name, event, error, failures, delay) => {
        observer.failed?.(name, event, error, failures, delay);
        if (failures > 1 && failures % TOLD_EVERY !== 0) return;
        const details = { ...about(name, event), failures, again: Math.round(delay / 1000), error: messageOf(error) };
        log.warn(details, 'a subscriber did not take an event, it is tried again');
      },
      gaveUp: (name, event, error, failures) => {
        observer.gaveUp?.(name, event, error, failures);
        log.error(
          { ...about(name, event), failures, error: messageOf(error) },
          'a subscriber was not told of an event',
        );
      },
      trouble: (name, error) => log.warn({ subscriber: name, err: error }, 'positions of subscribers cannot be kept'),
    };
  }
}

const deliveryTo = ({ to, timeout }: ConfiguredSubscriber, timers: Timers): Deliver =>
  to.kind === 'webhook'
    ? webhook({ url: to.url, secret: to.secret, timeout }, timers)
    : hookCommand({ command: to.command, timeout }, timers);

/** The kind of stream that has events of a type. */
const prefixOf = (type: string): string => {
  if (!isEventType(type)) throw new Error(`${type} is no type of event`);
  if (type.startsWith('Project')) return 'project-';
  return /^(?:Node|Capacity)/.test(type) ? 'node-' : 'job-';
};
