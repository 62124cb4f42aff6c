import { SNAPSHOTS_KEPT } from '../snapshot/store.js';
import type { SnapshotStore } from '../snapshot/store.js';

/** Snapshots that outlive the process that made them, but not the test. */
export class MemorySnapshots implements SnapshotStore {
  readonly texts = new Map<string, string>();
  /** Called before each piece is taken in: for a disk that is slow, or fails. */
  beforePiece: () => Promise<void> = () => Promise.resolve();

  async names(): Promise<readonly string[]> {
    return [...this.texts.keys()].sort().reverse();
  }

  async *read(name: string): AsyncIterable<string> {
    yield this.texts.get(name) ?? '';
  }

  async write(position: bigint, pieces: Iterable<string>): Promise<void> {
    let text = '';
    for (const piece of pieces) {
      await this.beforePiece();
      text += piece;
    }
    this.texts.set(String(position).padStart(20, '0'), text);
    for (const name of (await this.names()).slice(SNAPSHOTS_KEPT)) this.texts.delete(name);
  }

  async drop(name: string): Promise<void> {
    this.texts.delete(name);
  }
}
