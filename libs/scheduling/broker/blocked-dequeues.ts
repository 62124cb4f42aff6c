import type { Millis, Timer, Timers } from '#kernel';
import type { Delivery } from './delivery.js';

interface Blocked {
  readonly types: readonly string[];
  readonly resolve: (delivery: Delivery | undefined) => void;
  readonly reject: (error: Error) => void;
  timer: Timer | undefined;
}

/** Calls of dequeue that wait for something to become ready; who waits longest is served first. */
export class BlockedDequeues {
  private readonly blocked = new Set<Blocked>();

  constructor(private readonly timers: Timers) {}

  get size(): number {
    return this.blocked.size;
  }

  /** Resolves with nothing after the timeout; 0 waits without limit. */
  add(types: readonly string[], timeout: Millis): Promise<Delivery | undefined> {
    return new Promise((resolve, reject) => {
      const one: Blocked = { types, resolve, reject, timer: undefined };
      this.blocked.add(one);
      if (timeout > 0) one.timer = this.timers.after(timeout, () => this.leave(one).resolve(undefined));
    });
  }

  /** Serves the first that `deliver` has something for; false when there is none. */
  serve(deliver: (types: readonly string[]) => Delivery | undefined): boolean {
    let inVain: readonly string[] | undefined;
    for (const one of this.blocked) {
      if (one.types === inVain) continue;
      const delivery = deliver(one.types);
      inVain = one.types;
      if (!delivery) continue;
      this.leave(one).resolve(delivery);
      return true;
    }
    return false;
  }

  rejectAll(error: Error): void {
    for (const one of this.blocked) this.leave(one).reject(error);
  }

  private leave(one: Blocked): Blocked {
    one.timer?.cancel();
    this.blocked.delete(one);
    return one;
  }
}
