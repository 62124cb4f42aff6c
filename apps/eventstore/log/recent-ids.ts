interface Place {
  readonly stream: number;
  readonly revision: number;
}

/** The ids of the last events appended by this process, the oldest dropped first. Empty again after a restart. */
export class RecentIds {
  private readonly places = new Map<string, Place>();

  /** @param limit ids kept, at least 1. */
  constructor(private readonly limit: number) {}

  /** The revision of the latest event with this id, if it was in this stream. */
  revisionIn(stream: number, id: string): number | undefined {
    const place = this.places.get(id);
    return place?.stream === stream ? place.revision : undefined;
  }

  remember(stream: number, revision: number, id: string): void {
    this.places.delete(id);
    this.places.set(id, { stream, revision });
    if (this.places.size > this.limit) this.places.delete(this.places.keys().next().value ?? id);
  }

  clear(): void {
    this.places.clear();
  }
}
