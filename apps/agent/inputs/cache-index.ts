/** What is known of a cached file; another one for each time that it was entered. */
export interface CacheEntry {
  /** Bytes. */
  readonly size: number;
  /** Leases that are out: as long as there is one, it stays. */
  uses: number;
}

/** What a cache holds, the least recently used first. Pure bookkeeping: the files are somebody else's. */
export class CacheIndex {
  /** A map keeps the order of insertion, and whatever is used is inserted anew. */
  private readonly entries = new Map<string, CacheEntry>();
  private bytes = 0;

  /** Bytes of all entries. */
  get total(): number {
    return this.bytes;
  }

  sizeOf(sha256: string): number | undefined {
    return this.entries.get(sha256)?.size;
  }

  /** Enters a file as the most recently used. */
  add(sha256: string, size: number): void {
    this.remove(sha256);
    this.entries.set(sha256, { size, uses: 0 });
    this.bytes += size;
  }

  remove(sha256: string): void {
    const entry = this.entries.get(sha256);
    if (!entry) return;
    this.entries.delete(sha256);
    this.bytes -= entry.size;
  }

  /** Takes a lease on an entry, which makes it the most recently used. It is given back once, to the entry that is answered. */
  use(sha256: string): CacheEntry | undefined {
    const entry = this.entries.get(sha256);
    if (!entry) return undefined;
    entry.uses += 1;
    this.entries.delete(sha256);
    this.entries.set(sha256, entry);
    return entry;
  }

  /** Gives a lease back. */
  release(entry: CacheEntry): void {
    entry.uses -= 1;
  }

  /** What has to go for the rest to be within `limit` bytes: the least recently used, and never what is in use. */
  overflow(limit: number): string[] {
    const going: string[] = [];
    let left = this.bytes;
    for (const [sha256, { size, uses }] of this.entries) {
      if (left <= limit) break;
      if (uses > 0) continue;
      going.push(sha256);
      left -= size;
    }
    return going;
  }

  /** Digests of files with at least `least` bytes, the most recently used first, `most` of them. */
  recent(least: number, most: number): string[] {
    return [...this.entries]
      .reverse()
      .filter(([, { size }]) => size >= least)
      .slice(0, most)
      .map(([sha256]) => sha256);
  }
}
