import { systemClock, systemIds, systemTimers } from '#kernel';
import type { Clock, Ids, Timers } from '#kernel';

/** Where text goes. `isTerminal` tells whether a person watches it. */
export interface Sink {
  readonly isTerminal: boolean;
  /** Columns of the terminal; undefined when it is none. */
  readonly columns?: number;
  write(text: string): void;
}

/** What a verb may touch of the world: data goes to `out`, everything else to `err`. */
export interface Io {
  readonly out: Sink;
  readonly err: Sink;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly ids: Ids;
}

export const processIo = (): Io => ({
  out: sinkOf(process.stdout),
  err: sinkOf(process.stderr),
  env: process.env,
  cwd: process.cwd(),
  clock: systemClock,
  timers: systemTimers,
  ids: systemIds,
});

const sinkOf = (stream: NodeJS.WriteStream): Sink => {
  // A reader that has seen enough (`| head`) is no fault of ours.
  stream.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
  return {
    isTerminal: stream.isTTY,
    ...(stream.isTTY ? { columns: stream.columns } : {}),
    write: (text) => void stream.write(text),
  };
};
