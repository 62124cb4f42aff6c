import type { Position } from './port.js';

/** A folded state, and the last event that is in it (none: revision undefined, position START). */
export interface Known<S> {
  readonly state: S;
  readonly revision: bigint | undefined;
  readonly position: Position;
}

/** States of streams by name, the least recently used dropped first. Only for speed: any entry may go at any time. */
export class StateCache<S> {
  private readonly entries = new Map<string, Known<S>>();

  /** `size` streams at most; 0 keeps none. */
  constructor(private readonly size: number) {}

  get(stream: string): Known<S> | undefined {
    const known = this.entries.get(stream);
    if (known) {
      this.entries.delete(stream);
      this.entries.set(stream, known);
    }
    return known;
  }

  /** Keeps the newer of the two: a slow read may end after a later append. */
  put(stream: string, known: Known<S>): void {
    const kept = this.entries.get(stream);
    if (kept && (kept.revision ?? -1n) > (known.revision ?? -1n)) return;
    this.entries.delete(stream);
    this.entries.set(stream, known);
    if (this.entries.size <= this.size) return;
    const oldest = this.entries.keys().next();
    if (!oldest.done) this.entries.delete(oldest.value);
  }

  drop(stream: string): void {
    this.entries.delete(stream);
  }
}
