import type { ClientReadableStream } from '@grpc/grpc-js';

/** The call is held back while so many answers wait, or so many bytes. */
const MOST_WAITING = 64;
const MOST_BYTES = 1024 * 1024;

/**
 * The answers of one call in their order, taken without a promise for each: they come many at a time, and a subscriber is
 * mostly done with one at once. A consumer that is slow holds the server back.
 */
export class Answers {
  private waiting: Buffer[] = [];
  private at = 0;
  private bytes = 0;
  private ended = false;
  private error: Error | undefined;
  private wake: (() => void) | undefined;

  constructor(private readonly call: ClientReadableStream<Buffer>) {
    call.on('data', (answer: Buffer) => {
      this.waiting.push(answer);
      this.bytes += answer.length;
      if (this.waiting.length >= MOST_WAITING || this.bytes >= MOST_BYTES) call.pause();
      this.wake?.();
    });
    call.on('error', (error: Error) => {
      this.error ??= error;
      this.wake?.();
    });
    call.on('end', () => {
      this.ended = true;
      this.wake?.();
    });
  }

  /** The next answer, if one is here; `ended` after the last one. Throws why the call was lost. */
  take(): Buffer | 'ended' | undefined {
    const answer = this.waiting[this.at];
    if (answer) {
      this.at += 1;
      return answer;
    }
    if (this.error) throw this.error;
    if (this.ended) return 'ended';
    if (this.at > 0) this.call.resume();
    this.waiting = [];
    this.at = 0;
    this.bytes = 0;
    return undefined;
  }

  /** Resolves when there is something to take, or nothing will come any more. */
  more(): Promise<void> {
    if (this.at < this.waiting.length || this.ended || this.error) return Promise.resolve();
    return new Promise((resolve) => {
      this.wake = () => {
        this.wake = undefined;
        resolve();
      };
    });
  }
}
