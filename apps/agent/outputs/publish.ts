import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import type { Artifact } from '#contracts';
import type { Random, Timers } from '#kernel';
import { isTransient, Refused } from '../client/faults.js';
import type { Http } from '../client/http.js';
import { backoff, wait } from '../client/wait.js';
import { ExecutionFault, failure } from '../executions/ending.js';
import { describe } from './collect.js';

const HOUR = 3_600_000;

/** Stores a task's files by content; bytes that the server has already are not sent again. */
export class Publisher {
  constructor(
    private readonly http: Http,
    private readonly timers: Timers,
    private readonly random: Random,
  ) {}

  /**
   * Publishes `files` of `work` one after the other and tells of each once it is stored, with the bytes that had to be sent. A
   * server that does not answer is asked again until `signal` aborts; one that refuses the bytes for good makes an
   * `ExecutionFault`.
   */
  async publish(
    work: string,
    files: readonly string[],
    signal: AbortSignal,
    stored: (artifact: Artifact, sent: number) => void,
  ): Promise<void> {
    for (const file of files) {
      const artifact = await describe(work, file);
      const sent = await this.store(join(work, file), artifact, signal);
      stored(artifact, sent ? artifact.size : 0);
    }
  }

  /** Whether the bytes had to be sent. */
  private async store(path: string, { sha256, size }: Artifact, signal: AbortSignal): Promise<boolean> {
    for (let failures = 0; ; failures += 1) {
      signal.throwIfAborted();
      try {
        const { status, headers } = await this.http.head(`/artifacts/${sha256}`, { signal });
        if (status === 200) return false;
        // What an interrupted upload left there need not be sent again.
        const offset = Math.min(size, Number(headers['escalon-upload-offset'] ?? 0) || 0);
        const call = { bytes: createReadStream(path, { start: offset }), length: size - offset, signal, timeout: HOUR };
        await this.http.json('PUT', `/artifacts/${sha256}${offset > 0 ? `?offset=${offset}` : ''}`, call);
        return true;
      } catch (error) {
        signal.throwIfAborted();
        if (!isTransient(error)) throw publishFault(error, path);
        await wait(this.timers, backoff(failures, this.random), signal);
      }
    }
  }
}

const publishFault = (error: unknown, path: string): unknown =>
  error instanceof Refused
    ? new ExecutionFault(failure('infrastructure', 'publish-refused', `${path} cannot be stored: ${error.message}`))
    : error;
