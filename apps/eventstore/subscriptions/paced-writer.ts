/** The writable half of a streaming call, as far as the writers here need it. */
export interface ResponseStream {
  /** Takes encoded messages; `done` is called when all of them have left. */
  write(messages: readonly Buffer[], done: () => void): unknown;
  end(): unknown;
  emit(event: 'error', error: Error): unknown;
  on(event: 'cancelled' | 'close' | 'error', listener: () => void): unknown;
}

const MANY_MESSAGES = 512;
const MANY_BYTES = 1024 * 1024;

/**
 * Writes to one caller, all messages of one turn of the event loop together, and knows how much of it has not left yet, so that a slow caller costs a bounded amount of
 * memory. `write` always accepts; whoever writes looks at `congested` and then waits for `ready`, which comes when
 * half of the backlog is gone. After `ended` nothing is written any more.
 */
export class PacedWriter {
  private messages = 0;
  private bytes = 0;
  private gathered: Buffer[] = [];
  private readonly waiters: (() => void)[] = [];
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
    this.gathered.push(bytes);
    if (this.gathered.length === 1) queueMicrotask(() => this.flush());
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
    this.flush();
    this.finish();
    this.stream.end();
  }

  /** Ends the call with an error status, after all that was written. */
  fail(error: Error): void {
    if (this.over) return;
    this.flush();
    this.finish();
    this.stream.emit('error', error);
  }

  private flush(): void {
    if (this.gathered.length === 0 || this.over) return;
    const list = this.gathered;
    this.gathered = [];
    const bytes = list.reduce((sum, message) => sum + message.length, 0);
    this.stream.write(list, () => this.sent(list.length, bytes));
  }

  private sent(messages: number, bytes: number): void {
    this.messages -= messages;
    this.bytes -= bytes;
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
