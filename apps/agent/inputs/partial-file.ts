import { createHash } from 'node:crypto';
import type { Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { Unreachable } from '../client/faults.js';
import { ExecutionFault, failure } from '../executions/ending.js';

/**
 * A file that comes in pieces. It grows at its end only, and its digest grows with it, so that a transfer that broke off goes
 * on where it stopped, in a later process too.
 */
export class PartialFile {
  private constructor(
    private readonly file: FileHandle,
    private hash: Hash,
    private length: number,
  ) {}

  /** Takes up what is at `path`, reading it once for the digest, or begins an empty file. */
  static async open(path: string): Promise<PartialFile> {
    const file = await open(path, 'a+', 0o600);
    try {
      const hash = createHash('sha256');
      let length = 0;
      for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
        hash.update(chunk);
        length += chunk.length;
      }
      return new PartialFile(file, hash, length);
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  /** Bytes that are there. */
  get size(): number {
    return this.length;
  }

  /** The digest of what is there. */
  sha256(): string {
    return this.hash.copy().digest('hex');
  }

  async clear(): Promise<void> {
    await this.file.truncate(0);
    this.hash = createHash('sha256');
    this.length = 0;
  }

  /**
   * Adds a stream to the end. When it breaks off, what came is kept and the error thrown. More than `limit` bytes in all
   * fail as `input-too-large`. `received` hears of each piece.
   */
  async append(body: Readable, limit: number, received: (bytes: number) => void): Promise<void> {
    for await (const chunk of arriving(body)) {
      if (this.length + chunk.length > limit) throw tooLarge(limit);
      await this.write(chunk);
      received(chunk.length);
    }
  }

  /** Forces what is there to disk. */
  sync(): Promise<void> {
    return this.file.sync();
  }

  close(): Promise<void> {
    return this.file.close();
  }

  /** A chunk that went in by half (a full disk) is taken out again: file and digest never differ. */
  private async write(chunk: Buffer): Promise<void> {
    try {
      for (let done = 0; done < chunk.length;)
        done += (await this.file.write(chunk, done, chunk.length - done)).bytesWritten;
    } catch (error) {
      await this.file.truncate(this.length).catch(() => undefined);
      throw error;
    }
    this.hash.update(chunk);
    this.length += chunk.length;
  }
}

/** What breaks off on the way is told apart from what cannot be written. */
async function* arriving(body: Readable): AsyncGenerator<Buffer, void> {
  try {
    yield* body as AsyncIterable<Buffer>;
  } catch (error) {
    throw new Unreachable(error);
  }
}

export const tooLarge = (limit: number): ExecutionFault =>
  new ExecutionFault(failure('input', 'input-too-large', `an input is larger than ${limit} bytes`));
