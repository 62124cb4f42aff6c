import type { Millis } from '#kernel';
import type { Aging } from './aging.js';

export interface BrokerOptions {
  /** How long a delivery may take until it is answered or its lease extended. */
  readonly leaseTimeout: Millis;
  /** An evaluation that was delivered so often and never acked is a dead letter. */
  readonly deliveryLimit: number;
  readonly aging: Aging;
}

/** After this many deliveries without an ack: 5 s, then 30, 60, 90 s and so on. */
export const retryDelay = (deliveries: number): Millis => (deliveries <= 1 ? 5_000 : (deliveries - 1) * 30_000);
