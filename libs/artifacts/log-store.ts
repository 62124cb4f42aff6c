import { mkdir, open, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** Bytes were sent from behind the end of what is there. */
export class LogOffsetGap extends Error {
  override readonly name = 'LogOffsetGap';
  constructor(readonly expected: number) {
    super(`the log goes on at byte ${String(expected)}`);
  }
}

/**
 * What tasks wrote, one file for each execution and stream. Logs are telemetry: a write is handed to the operating
 * system and not forced to disk, so a power cut may cost the last lines, which the agent then sends again.
 */
export class LogStore {
  private readonly writes = new Map<string, Promise<unknown>>();
  private readonly listeners = new Map<string, Set<() => void>>();

  constructor(private readonly root: string) {}

  /**
   * Puts bytes at their offset and answers the next one. Bytes that are there already are accepted once; a gap throws
   * `LogOffsetGap` with the offset that is wanted.
   */
  append(executionId: string, stream: string, offset: number, bytes: Uint8Array): Promise<number> {
    const path = this.place(executionId, stream);
    const before = this.writes.get(path) ?? Promise.resolve();
    const write = before.then(async () => {
      const next = await this.write(path, offset, bytes);
      this.tell(executionId);
      return next;
    });
    const settled = write
      .catch(() => undefined)
      .then(() => {
        if (this.writes.get(path) === settled) this.writes.delete(path);
      });
    this.writes.set(path, settled);
    return write;
  }

  /** Bytes there are. */
  async size(executionId: string, stream: string): Promise<number> {
    try {
      return (await stat(this.place(executionId, stream))).size;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0;
      throw error;
    }
  }

  /** At most `length` bytes from `offset`. */
  async read(executionId: string, stream: string, offset: number, length: number): Promise<Buffer> {
    const size = await this.size(executionId, stream);
    const wanted = Math.max(0, Math.min(length, size - offset));
    if (wanted === 0) return Buffer.alloc(0);
    const file = await open(this.place(executionId, stream), 'r');
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(wanted), 0, wanted, offset);
      return buffer.subarray(0, bytesRead);
    } finally {
      await file.close();
    }
  }

  /** Hears when something was added to an execution's logs; the answer ends that. */
  listen(executionId: string, listener: () => void): () => void {
    const listeners = this.listeners.get(executionId) ?? new Set();
    this.listeners.set(executionId, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) this.listeners.delete(executionId);
    };
  }

  private async write(path: string, offset: number, bytes: Uint8Array): Promise<number> {
    await mkdir(dirname(path), { recursive: true });
    const file = await open(path, 'a+');
    try {
      const { size } = await file.stat();
      if (offset > size) throw new LogOffsetGap(size);
      const fresh = bytes.subarray(size - offset);
      if (fresh.length > 0) await file.appendFile(fresh);
      return size + fresh.length;
    } finally {
      await file.close();
    }
  }

  private tell(executionId: string): void {
    for (const listener of this.listeners.get(executionId) ?? []) listener();
  }

  /** Ids and streams come checked; this keeps a mistake from leaving the folder. */
  private place(executionId: string, stream: string): string {
    const safe = (name: string): string => name.replace(/[^\w.-]/g, '_').replace(/^\.+/, '_');
    return join(this.root, safe(executionId), `${safe(stream)}.log`);
  }
}
