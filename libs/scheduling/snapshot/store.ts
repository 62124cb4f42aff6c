/**
 * Where snapshots lie. They are a cache: any of them may be gone at any time, and deleting one is always safe. Every adapter
 * runs the suite in `store.spec.ts`.
 */
export interface SnapshotStore {
  /** The names of those that are whole, the one at the highest position first. */
  names(): Promise<readonly string[]>;
  /** The text of one, in pieces of any size. */
  read(name: string): AsyncIterable<string>;
  /**
   * Stores all of the text or none of it, durably, and lets go of all but the two at the highest positions. The pieces are
   * asked for one after the other, each when the one before was taken in.
   */
  write(position: bigint, pieces: Iterable<string>): Promise<void>;
  drop(name: string): Promise<void>;
}

export const SNAPSHOTS_KEPT = 2;
