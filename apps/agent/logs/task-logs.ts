import { messageOf } from '../client/errors.js';
import { within } from '../client/wait.js';
import type { ExecutionHost } from '../executions/host.js';
import type { TaskFolder } from '../runner/task-folder.js';
import { LogStream } from './log-stream.js';

/** How long a result waits for the last of its logs to arrive before it goes ahead of them. */
const BEFORE_RESULT = 10_000;
/** How long an acknowledged execution's folder is kept for logs that still could not be sent. */
const AFTER_RESULT = 300_000;

/** Both output streams of one execution on their way to the server, from `follow` until all is sent. */
export class TaskLogs {
  private streams: LogStream[] = [];

  constructor(
    private readonly host: ExecutionHost,
    private readonly executionId: string,
    private readonly folder: TaskFolder,
  ) {}

  /** Begins, if it has not begun. */
  follow(): void {
    if (this.streams.length > 0) return;
    const { host, executionId, folder } = this;
    const refused = (error: unknown): void =>
      host.log.warn({ executionId, reason: messageOf(error) }, 'logs were refused');
    this.streams = (['stdout', 'stderr'] as const).map((stream) => {
      return new LogStream({ executionId, stream, file: folder[stream], refused }, host.http, host.timers, host.random);
    });
  }

  /** Nothing more will be written. */
  finish(): void {
    for (const stream of this.streams) stream.finish();
  }

  abort(): void {
    for (const stream of this.streams) stream.abort();
  }

  /** Waits for the rest, but not for ever: the result goes ahead of it then. */
  beforeResult(): Promise<unknown> {
    return within(this.host.timers, BEFORE_RESULT, this.done());
  }

  /** Sends what is left when the result was taken in. */
  async afterResult(): Promise<void> {
    this.finish();
    await within(this.host.timers, AFTER_RESULT, this.done());
    this.abort();
  }

  private done(): Promise<unknown> {
    return Promise.all(this.streams.map(({ done }) => done));
  }
}
