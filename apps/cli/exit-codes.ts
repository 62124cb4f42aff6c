/** How a verb can end. Part of the public contract. */
export const EXIT = {
  done: 0,
  /** The tool or the server failed. */
  failed: 1,
  /** The command line or the job file is wrong. */
  usage: 2,
  jobFailed: 3,
  jobCancelled: 4,
  neverPlaceable: 5,
  /** Waited as long as was asked for. */
  timeout: 124,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** Ends the verb with this code; the message, when there is one, goes to stderr. */
export class Exit extends Error {
  override readonly name = 'Exit';
  constructor(
    readonly code: ExitCode,
    message = '',
  ) {
    super(message);
  }
}

/** What was typed, or the file it names, cannot be used. */
export const usage = (message: string): Exit => new Exit(EXIT.usage, message);
