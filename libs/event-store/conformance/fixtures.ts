import { systemIds } from '#kernel';
import type { EventStore, NewEvent, RecordedEvent, Subscriber, Subscription } from '../port.js';

/** A store under test; `close` gives back all that was opened for it. */
export interface StoreUnderTest {
  readonly store: EventStore;
  close(): Promise<void>;
}

/** A name that no other run uses, so that the suite may run on a server that others share. */
export const uniqueName = (prefix: string): string => `${prefix}-${systemIds.next()}`;

/** An event that says which one it is. */
export const numbered = (n: number, data: object = {}): NewEvent => ({
  id: systemIds.next(),
  type: 'Numbered',
  data: { n, ...data },
  metadata: { schemaVersion: 1, actor: 'system:conformance' },
});

export const numberedUpTo = (count: number, from = 0): readonly NewEvent[] =>
  Array.from({ length: count }, (_, index) => numbered(from + index));

export const numberOf = (event: RecordedEvent): number => (event.data as { n: number }).n;

export const collect = async (events: AsyncIterable<RecordedEvent>): Promise<RecordedEvent[]> => {
  const all: RecordedEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
};

/** Appends and insists that it is stored. */
export const mustAppend = async (
  store: EventStore,
  stream: string,
  events: readonly NewEvent[],
  expected: 'none' | 'any' | bigint = 'any',
): Promise<{ revision: bigint; position: bigint }> => {
  const result = await store.append(stream, events, expected);
  if (result.kind !== 'appended') throw new Error(`conflict on ${stream}: ${result.actual}`);
  return result;
};

/** A subscriber that keeps what it is told, and a way to wait until that is enough. */
export class Recorder implements Subscriber {
  readonly events: RecordedEvent[] = [];
  readonly checkpoints: bigint[] = [];
  readonly failures: Error[] = [];
  /** Everything told, in order: numbers of events, and the names of what else happened. */
  readonly told: (number | 'caughtUp' | 'checkpoint' | 'down' | 'up')[] = [];
  private waiting: { enough: () => boolean; resolve: () => void }[] = [];

  constructor(private readonly onEvent?: (event: RecordedEvent) => void | Promise<void>) {}

  async event(event: RecordedEvent): Promise<void> {
    await this.onEvent?.(event);
    this.events.push(event);
    this.told.push(numberOf(event));
    this.wake();
  }

  checkpoint(position: bigint): void {
    this.checkpoints.push(position);
    this.told.push('checkpoint');
    this.wake();
  }

  caughtUp(): void {
    this.told.push('caughtUp');
    this.wake();
  }

  interrupted(down: boolean): void {
    this.told.push(down ? 'down' : 'up');
    this.wake();
  }

  failed(error: Error): void {
    this.failures.push(error);
    this.wake();
  }

  until(enough: (recorder: this) => boolean): Promise<void> {
    if (enough(this)) return Promise.resolve();
    return new Promise((resolve) => this.waiting.push({ enough: () => enough(this), resolve }));
  }

  untilEvents(count: number): Promise<void> {
    return this.until(() => this.events.length >= count);
  }

  untilCaughtUp(): Promise<void> {
    return this.until(() => this.told.includes('caughtUp'));
  }

  numbers(): number[] {
    return this.events.map(numberOf);
  }

  private wake(): void {
    const ready = this.waiting.filter(({ enough }) => enough());
    this.waiting = this.waiting.filter((one) => !ready.includes(one));
    for (const { resolve } of ready) resolve();
  }
}

/** Runs `body` with a subscription that is stopped afterwards whatever happens. */
export const whileSubscribed = async (subscription: Subscription, body: () => Promise<void>): Promise<void> => {
  try {
    await body();
  } finally {
    await subscription.stop();
  }
};
