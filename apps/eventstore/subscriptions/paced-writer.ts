/** The writable half of a streaming call, as far as the writers here need it. */
export interface ResponseStream {
  write(bytes: Buffer, done: () => void): unknown;
  end(): unknown;
  emit(event: 'error', error: Error): unknown;
  on(event: 'cancelled' | 'close' | 'error', listener: () => void): unknown;
}

const MANY_MESSAGES = 512;
const MANY_BYTES = 1024 * 1024;

/**
 * Writes to one caller and knows how much of it has not left yet, so that a slow caller costs a bounded amount of
 * memory. `write` always accepts; whoever writes looks at `congested` and then waits for `ready`, which comes when
 * half of the backlog is gone. After `ended` nothing is written any more.
 */
export class PacedWriter {
  private messages = 0;
  private bytes = 0;
  private waiters: (() => void)[] = [];
  private over = false;
  private readonly enders: (() => void)[] = [];

  constructor(private readonly stream: ResponseStream) {
    const over = (): void => this.finish();
    for (const event of ['cancelled', 'close', 'error'] as const) stream.on(event, over);
  }

  get ended(): boolean {
    return this.over;
  }

  get congested(): boolean {
    return !this.over && (this.messages > MANY_MESSAGES || this.bytes > MANY_BYTES);
  }

  write(bytes: Buffer): void {
    if (this.over) return;
    this.messages += 1;
    this.bytes += bytes.length;
    this.stream.write(bytes, () => this.sent(bytes.length));
  }

  /** Resolves when the caller has caught up with half of the backlog, or when the call is over. */
  ready(): Promise<void> {
    return this.congested ? new Promise((resolve) => this.waiters.push(resolve)) : Promise.resolve();
  }

  /** Calls `listener` when the call is over, at once if it already is. */
  onEnd(listener: () => void): void {
    if (this.over) listener();
    else this.enders.push(listener);
  }

  /** Ends the call in good order, after all that was written. */
  end(): void {
    if (this.over) return;
    this.finish();
    this.stream.end();
  }

  /** Ends the call with an error status, after all that was written. */
  fail(error: Error): void {
    if (this.over) return;
    this.finish();
    this.stream.emit('error', error);
  }

  private sent(length: number): void {
    this.messages -= 1;
    this.bytes -= length;
    if (this.messages <= MANY_MESSAGES / 2 && this.bytes <= MANY_BYTES / 2) this.release();
  }

  private finish(): void {
    if (this.over) return;
    this.over = true;
    this.release();
    for (const ender of this.enders.splice(0)) ender();
  }

  private release(): void {
    for (const waiter of this.waiters.splice(0)) waiter();
  }
}
