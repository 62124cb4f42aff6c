import type { EventLog } from '../log/event-log.js';
import { STORED_TOMBSTONE } from '../log/record.js';
import type { EventHeading, RecordedEvent } from '../log/record.js';
import { streamDeleted } from '../protocol/errors.js';
import { encodeCaughtUp, encodeCheckpoint, encodeConfirmation, encodeFellBehind } from '../protocol/read-messages.js';
import { encodeReadEvent } from '../protocol/responses.js';
import type { UuidForm } from '../protocol/responses.js';
import type { CheckpointCounter, EventFilter } from './event-filter.js';
import type { LiveEvent } from './live-feed.js';
import type { LiveFeed } from './live-feed.js';
import type { PacedWriter } from './paced-writer.js';

/** What a subscription is to. `after` is exclusive: a revision or a position, −1 or 0 for all; `end` is from now on. */
export type SubscriptionTarget =
  | { readonly kind: 'stream'; readonly stream: string; readonly after: number | 'end' }
  | {
      readonly kind: 'all';
      readonly after: number | 'end';
      readonly filter?: EventFilter;
      readonly checkpoints?: CheckpointCounter;
    };

export interface SubscriptionOptions {
  readonly id: string;
  readonly target: SubscriptionTarget;
  readonly resolveLinks: boolean;
  readonly uuids: UuidForm;
}

/** One page of the log on the way to its head. */
interface CatchUpPage {
  readonly events: readonly (RecordedEvent | EventHeading)[];
  readonly end: boolean;
}

/**
 * Sends one subscriber every event after its starting point, in order, each once.
 *
 * Catching up: reads the log page by page and waits whenever the subscriber is slow; other work gets its turn between
 * pages. When a page ends at the head and nothing was waited for since it was read, no event can lie between, and it
 * goes live: joins the feed and says `caughtUp`. Live: events come from memory as they are committed. When the
 * subscriber's backlog grows too long it leaves the feed, waits, and catches up from the log again; only if more than
 * one page was missed does it say `fellBehind` (and `caughtUp` once more later). Ends when the caller leaves, when the
 * stream is tombstoned (after that event is delivered), or when the server stops.
 */
export class Subscription {
  private cursor: number;
  private saidCaughtUp = false;
  private detach: () => void = () => undefined;
  /** Lasts as long as it is live. */
  private live: Promise<void> = Promise.resolve();

  constructor(
    private readonly log: EventLog,
    private readonly feed: LiveFeed,
    private readonly out: PacedWriter,
    private readonly options: SubscriptionOptions,
  ) {
    const { target } = options;
    this.cursor = target.after === 'end' ? this.headOf(target) : target.after;
  }

  async run(): Promise<void> {
    this.out.onEnd(() => this.detach());
    this.out.write(encodeConfirmation(this.options.id));
    while (!this.out.ended) {
      await this.catchUp();
      await this.live;
      await this.out.ready();
    }
  }

  /** Returns when live, or when the call is over. */
  private async catchUp(): Promise<void> {
    while (!this.out.ended) {
      const page = this.readPage();
      if (!page.end && this.saidCaughtUp) this.fallBehind();
      const waited = await this.sendPage(page);
      if (page.end && !waited) {
        this.goLive();
        return;
      }
      if (!page.end) await breathe();
    }
  }

  private headOf(target: SubscriptionTarget): number {
    return target.kind === 'all' ? this.log.headPosition : this.log.headOf(target.stream);
  }

  private readPage(): CatchUpPage {
    const { target } = this.options;
    if (target.kind === 'stream') return this.readStreamPage(target.stream);
    return target.filter
      ? this.log.reader.headingPage(this.cursor, 'forwards')
      : this.log.reader.allPage(this.cursor, 'forwards');
  }

  private readStreamPage(stream: string): CatchUpPage {
    const page = this.log.reader.streamPage(stream, this.cursor + 1, 'forwards');
    if (page.kind === 'deleted') throw streamDeleted(stream);
    if (page.kind === 'missing') return { events: [], end: true };
    return { events: page.events, end: page.next === undefined };
  }

  private async sendPage({ events }: CatchUpPage): Promise<boolean> {
    let waited = false;
    for (const event of events) {
      if (this.out.ended) return waited;
      this.consider(event, undefined);
      if (this.out.congested) {
        waited = true;
        await this.out.ready();
      }
    }
    return waited;
  }

  private goLive(): void {
    if (this.out.ended) return;
    const { target } = this.options;
    if (!this.saidCaughtUp) this.out.write(encodeCaughtUp());
    this.saidCaughtUp = true;
    this.live = new Promise((resolve) => {
      const leave = this.feed.attach(target.kind === 'stream' ? target.stream : undefined, (events) => {
        for (const live of events) {
          if (this.out.congested || this.out.ended) return this.detach();
          this.consider(live.event, live);
        }
      });
      this.detach = () => {
        leave();
        resolve();
      };
    });
  }

  private fallBehind(): void {
    this.out.write(encodeFellBehind());
    this.saidCaughtUp = false;
  }

  /** Takes one event in order: sends it if it matches, and a checkpoint if one is due. */
  private consider(event: RecordedEvent | EventHeading, live: LiveEvent | undefined): void {
    const { target } = this.options;
    const tombstone = 'revision' in event && event.revision === STORED_TOMBSTONE;
    const place = target.kind === 'stream' && 'revision' in event ? event.revision : event.position;
    if (place <= this.cursor && !(tombstone && target.kind === 'stream')) return;
    this.cursor = place;
    if (target.kind === 'stream') {
      this.send(event, live);
      if (tombstone) this.out.fail(streamDeleted(target.stream));
      return;
    }
    if (!target.filter || target.filter(event)) this.send(event, live);
    if (target.checkpoints?.count()) this.out.write(encodeCheckpoint(event.position));
  }

  private send(event: RecordedEvent | EventHeading, live: LiveEvent | undefined): void {
    const { resolveLinks, uuids } = this.options;
    if (live && !resolveLinks && uuids === 'string') return this.out.write(live.encoded);
    const full = 'data' in event ? event : this.log.reader.eventAt(event.position);
    if (!full) throw new Error(`no event at position ${event.position}`);
    const { event: found, link } = resolveLinks ? this.log.reader.resolve(full) : { event: full, link: undefined };
    this.out.write(encodeReadEvent(found, link, uuids));
  }
}

const breathe = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
