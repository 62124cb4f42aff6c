/** A part of the system that `up` starts, watches, starts again when it dies, and stops. */
export interface Service {
  /** As people read it: `event store`, `agent`. */
  readonly name: string;
  /** Resolves when it answers; rejects when it cannot come up, or when `signal` is aborted, leaving nothing behind. */
  start(signal: AbortSignal): Promise<RunningService>;
}

export interface RunningService {
  /** What came up and where, in one line. */
  readonly line: string;
  /** Resolves with how it ended, whoever ended it. */
  readonly exited: Promise<string>;
  /** Ends it in bounded time; resolves when it is gone. */
  stop(): Promise<void>;
}
