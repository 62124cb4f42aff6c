import type { Millis, Random } from '#kernel';
import type { NewEvent, RecordedEvent } from '../port.js';

/** What goes wrong with one append. Spans are milliseconds on the store's `Timers`. */
export type AppendFault =
  /** The request takes this long to arrive; others may be stored meanwhile. */
  | { readonly kind: 'delay-request'; readonly by: Millis }
  /** Stored at once, answered late. */
  | { readonly kind: 'delay-answer'; readonly by: Millis }
  /** Stored, and then the append rejects with `EventStoreUnavailable`: the caller cannot know. */
  | { readonly kind: 'lose-answer'; readonly after: Millis }
  /** Stored, the answer is lost, and the store finds out by a retry with the same ids: as the real adapter does. */
  | { readonly kind: 'retry-lost-answer'; readonly after: Millis }
  /** Nothing is stored, and the append rejects with `EventStoreUnavailable`: to the caller the same as a lost answer. */
  | { readonly kind: 'fail-before-storing'; readonly after: Millis };

/** What goes wrong with a read: it starts late, or rejects with `EventStoreUnavailable`. */
export type ReadFault =
  { readonly kind: 'delay'; readonly by: Millis } | { readonly kind: 'fail'; readonly after: Millis };

/** What goes wrong with one delivery to a subscriber. */
export type DeliveryFault =
  | { readonly kind: 'delay'; readonly by: Millis }
  | { readonly kind: 'twice' }
  /** The connection is lost before the event and whole again after `outage`; the subscription then resumes. */
  | { readonly kind: 'interrupt'; readonly outage: Millis };

/** Asked before each act what is to go wrong with it; `undefined` means nothing. */
export interface MemoryFaults {
  append?(stream: string, events: readonly NewEvent[]): AppendFault | undefined;
  read?(stream: string | '$all'): ReadFault | undefined;
  delivery?(event: RecordedEvent): DeliveryFault | undefined;
}

/** How often each fault happens, 0…1, and the longest delay (milliseconds) where one is drawn. */
export interface FaultRates {
  readonly delayRequest?: number;
  readonly delayAnswer?: number;
  readonly loseAnswer?: number;
  readonly retryLostAnswer?: number;
  readonly failBeforeStoring?: number;
  readonly delayRead?: number;
  readonly failRead?: number;
  readonly delayDelivery?: number;
  readonly deliverTwice?: number;
  readonly interrupt?: number;
  /** Default 1,000. */
  readonly longest?: Millis;
}

/** Faults drawn at random: the same seed gives the same faults for the same acts. */
export const randomFaults = (random: Random, rates: FaultRates): MemoryFaults => {
  const span = (): Millis => Math.floor(random.next() * (rates.longest ?? 1000));
  /** One draw decides among all kinds, so the order of the rows and not the number of them fixes the outcome. */
  const draw = <Fault>(rows: readonly (readonly [number | undefined, () => Fault])[]): Fault | undefined => {
    let left = random.next();
    for (const [rate = 0, make] of rows) {
      if (left < rate) return make();
      left -= rate;
    }
    return undefined;
  };
  return {
    append: () =>
      draw<AppendFault>([
        [rates.delayRequest, () => ({ kind: 'delay-request', by: span() })],
        [rates.delayAnswer, () => ({ kind: 'delay-answer', by: span() })],
        [rates.loseAnswer, () => ({ kind: 'lose-answer', after: span() })],
        [rates.retryLostAnswer, () => ({ kind: 'retry-lost-answer', after: span() })],
        [rates.failBeforeStoring, () => ({ kind: 'fail-before-storing', after: span() })],
      ]),
    read: () =>
      draw<ReadFault>([
        [rates.delayRead, () => ({ kind: 'delay', by: span() })],
        [rates.failRead, () => ({ kind: 'fail', after: span() })],
      ]),
    delivery: () =>
      draw<DeliveryFault>([
        [rates.delayDelivery, () => ({ kind: 'delay', by: span() })],
        [rates.deliverTwice, () => ({ kind: 'twice' })],
        [rates.interrupt, () => ({ kind: 'interrupt', outage: span() })],
      ]),
  };
};
