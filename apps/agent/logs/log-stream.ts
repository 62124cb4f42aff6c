import type { LogAnswer } from '#contracts';
import type { Random, Timers } from '#kernel';
import { isTransient, Refused } from '../client/faults.js';
import type { Http } from '../client/http.js';
import { backoff, wait } from '../client/wait.js';
import { readWritten } from './task-log.js';

export interface LogStreamOptions {
  readonly executionId: string;
  readonly stream: 'stdout' | 'stderr';
  /** Where its keeper keeps it. */
  readonly file: string;
  readonly refused: (error: unknown) => void;
}

const BATCH = 64 * 1024;
const INTERVAL = 250;
/** Bytes that are sent after one look at most while the task runs: of one that writes faster for long, parts are left out. */
const LOOK = 1024 * 1024;

/**
 * Sends one output stream to the server while the task writes it.
 *
 * Modes: *following* looks every 250 ms for new bytes; *sending* puts them in pieces of at most 64 KiB, each at its offset,
 * until the log's present end or, while the task runs, 1 MiB at one look; *waiting* is a growing pause after no answer, from
 * which sending starts again at the same offset. What the keeper has dropped before it was sent is passed over, and the
 * server told how much that is. A 409 moves to the offset that the server expects. The loop ends when the writer is done
 * (`finish`) and all is sent, when the server refuses the stream for good, or at `abort`.
 */
export class LogStream {
  readonly done: Promise<void>;
  private readonly stop = new AbortController();
  private readonly look = new AbortController();
  private offset = 0;
  private complete = false;

  constructor(
    private readonly options: LogStreamOptions,
    private readonly http: Http,
    private readonly timers: Timers,
    private readonly random: Random,
  ) {
    this.done = this.follow();
  }

  /** Nothing more will be written: send the rest, then end. */
  finish(): void {
    this.complete = true;
    this.look.abort();
  }

  abort(): void {
    this.stop.abort();
    this.look.abort();
  }

  private async follow(): Promise<void> {
    try {
      while (!this.stop.signal.aborted) {
        const last = this.complete;
        await this.sendToEnd();
        if (last) return;
        if (!this.complete) await wait(this.timers, INTERVAL, this.look.signal);
      }
    } catch (error) {
      if (!this.stop.signal.aborted) this.options.refused(error);
    }
  }

  private async sendToEnd(): Promise<void> {
    for (let sent = 0; !this.stop.signal.aborted && (this.complete || sent < LOOK);) {
      const { begin, bytes } = await readWritten(this.options.file, this.offset, BATCH);
      if (bytes.length === 0) return;
      await this.put(begin, bytes);
      sent += bytes.length;
    }
  }

  /** Puts one piece, however often it takes; moves `offset` to where the server wants to go on. */
  private async put(begin: number, bytes: Uint8Array): Promise<void> {
    const { executionId, stream } = this.options;
    const gap = begin > this.offset ? `&gap=${begin - this.offset}` : '';
    const path = `/executions/${executionId}/logs?stream=${stream}&offset=${begin}${gap}`;
    for (let failures = 0; !this.stop.signal.aborted; failures += 1) {
      try {
        const call = { bytes, length: bytes.length, signal: this.stop.signal };
        const answer = await this.http.json<Partial<LogAnswer>>('PUT', path, call);
        this.offset = answer.nextOffset ?? begin + bytes.length;
        return;
      } catch (error) {
        const expected = expectedOffset(error);
        if (expected !== undefined && expected !== this.offset) {
          this.offset = expected;
          return;
        }
        if (!isTransient(error)) throw error;
        await wait(this.timers, backoff(failures, this.random), this.stop.signal);
      }
    }
  }
}

const expectedOffset = (error: unknown): number | undefined => {
  if (!(error instanceof Refused) || error.status !== 409) return undefined;
  const details = error.problem['details'];
  const nested =
    typeof details === 'object' && details !== null && 'expected' in details ? details.expected : undefined;
  const expected = Number(error.problem['expected'] ?? nested);
  return Number.isSafeInteger(expected) && expected >= 0 ? expected : undefined;
};
