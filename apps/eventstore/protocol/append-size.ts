import type { Proposal } from './requests.js';

/**
 * Adds up one append. Releases up to 23.10 count only the data against the limit; custom metadata and types are held
 * to the same limit here, but apart, so that data of exactly the limit is accepted as it is there and metadata still
 * cannot grow without bound.
 */
export class AppendSize {
  private data = 0;
  private rest = 0;

  constructor(private readonly limit: number) {}

  add({ data, metadata, type }: Proposal): void {
    this.data += data.length;
    this.rest += metadata.length + 2 * (type?.length ?? 0);
  }

  get exceeded(): boolean {
    return this.data > this.limit || this.rest > this.limit;
  }

  get bytes(): number {
    return this.data + this.rest;
  }
}
