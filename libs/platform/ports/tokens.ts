/* Names under which the ports are injected: an interface has no name at run time. */
export const CLOCK = Symbol('Clock');
export const TIMERS = Symbol('Timers');
export const IDS = Symbol('Ids');
export const LOGGER = Symbol('Logger');
export const EVENT_STORE = Symbol('EventStore');
export const SIGNING_SECRET = Symbol('SigningSecret');
export const POSITION_WAITER = Symbol('PositionWaiter');

/** Waits until the read models show everything up to a position. */
export interface PositionWaiter {
  /** False when `timeout` milliseconds passed first. */
  wait(position: bigint, timeout: number): Promise<boolean>;
}
