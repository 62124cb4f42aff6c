/* Names under which the ports are injected: an interface has no name at run time. */
export const CLOCK = Symbol('Clock');
export const TIMERS = Symbol('Timers');
export const IDS = Symbol('Ids');
export const LOGGER = Symbol('Logger');
export const EVENT_STORE = Symbol('EventStore');
export const SIGNING_SECRET = Symbol('SigningSecret');
export const POSITION_WAITER = Symbol('PositionWaiter');
export const ANSWERS = Symbol('Answers');

/** A request with an idempotency key, and a digest of what it asks. */
export interface AnswerKey {
  readonly account: string;
  readonly key: string;
  readonly fingerprint: string;
}

export interface KeptAnswer {
  readonly status: number;
  readonly body: unknown;
}

/** Answers that were given under an idempotency key. Whoever gets `new` must call `finish` or `forget`. */
export interface Answers {
  begin(
    key: AnswerKey,
  ): Promise<
    { readonly kind: 'new' | 'running' | 'reused' } | { readonly kind: 'answered'; readonly answer: KeptAnswer }
  >;
  finish(key: AnswerKey, answer: KeptAnswer): Promise<void>;
  forget(key: AnswerKey): Promise<void>;
}

/** Waits until the read models show everything up to a position. */
export interface PositionWaiter {
  /** False when `timeout` milliseconds passed first. */
  wait(position: bigint, timeout: number): Promise<boolean>;
}
