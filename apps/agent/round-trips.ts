import type { Millis } from '#kernel';

/** A minute of heartbeats. */
const KEPT = 12;
/** Fewer say nothing: the first ones also open the connection. */
const LEAST = 4;

/** The last round trips to the control plane. Its own time to answer is in them, as it is in every message. */
export class RoundTrips {
  private readonly last: Millis[] = [];

  add(span: Millis): void {
    this.last.push(span);
    if (this.last.length > KEPT) this.last.shift();
  }

  /** The median, which a few slow ones do not move; undefined while there are too few. */
  get typical(): Millis | undefined {
    if (this.last.length < LEAST) return undefined;
    return [...this.last].sort((left, right) => left - right)[this.last.length >> 1];
  }
}
