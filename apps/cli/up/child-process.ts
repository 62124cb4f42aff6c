import { spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { readFile, rename, stat } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import type { ChildProcessByStdio } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import type { Millis, Timers } from '#kernel';

export interface ProcessSpec {
  readonly name: string;
  readonly script: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** What the process says on stderr is appended here. */
  readonly logFile: string;
  /** How long it may take to say that it is ready, and how long to end after SIGTERM. */
  readonly readyWithin: Millis;
  readonly stopWithin: Millis;
}

export interface RunningProcess {
  readonly pid: number;
  /** The line in which the process said that it is ready. */
  readonly ready: Readonly<Record<string, unknown>>;
  readonly exited: Promise<string>;
  stop(): Promise<void>;
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

/**
 * Starts one of our own processes and waits for the line `{"ready":true,…}` on its stdout.
 *
 * The child gets its own process group, so that a Ctrl-C at the terminal reaches only the supervisor, which then stops
 * all in order; and a pipe as stdin that closes with the supervisor, so that the child ends when that is killed.
 */
export const startProcess = async (spec: ProcessSpec, timers: Timers, signal: AbortSignal): Promise<RunningProcess> => {
  signal.throwIfAborted();
  await keepLogShort(spec.logFile);
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', spec.script, ...spec.args], {
    env: spec.env,
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
  });
  // A child that dies while we hold the pipe is told of by `exited`.
  child.stdin.on('error', () => undefined);
  child.stderr.pipe(createWriteStream(spec.logFile, { flags: 'a', mode: 0o600 }));
  const exited = endOf(child);
  const stop = (): Promise<void> => stopChild(child, exited, spec.stopWithin, timers);
  try {
    const ready = await readyLine(child, exited, spec, timers, signal);
    return { pid: child.pid ?? 0, ready, exited, stop };
  } catch (error) {
    await stop();
    throw signal.aborted ? error : new Error(`${spec.name} did not start: ${await reason(error, spec)}`);
  }
};

const endOf = (child: Child): Promise<string> =>
  new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (code, signal) => resolve(signal === null ? `exit code ${code ?? 0}` : signal));
  });

const readyLine = (
  child: Child,
  exited: Promise<string>,
  spec: ProcessSpec,
  timers: Timers,
  signal: AbortSignal,
): Promise<Record<string, unknown>> =>
  new Promise((resolve, reject) => {
    const settle = (end: () => void): void => {
      timer.cancel();
      signal.removeEventListener('abort', abort);
      end();
    };
    const give = (error: Error): void => settle(() => reject(error));
    const abort = (): void => give(signal.reason as Error);
    const timer = timers.after(spec.readyWithin, () => give(new Error(`not ready after ${spec.readyWithin / 1000} s`)));
    signal.addEventListener('abort', abort);
    void exited.then((how) => give(new Error(`it ended with ${how}`)));
    createInterface({ input: child.stdout }).on('line', (line) => {
      const said = parseReady(line);
      if (said) settle(() => resolve(said));
    });
  });

const parseReady = (line: string): Record<string, unknown> | undefined => {
  try {
    const said = JSON.parse(line) as Record<string, unknown> | null;
    return said?.ready === true ? said : undefined;
  } catch {
    return undefined;
  }
};

const stopChild = async (child: Child, exited: Promise<string>, within: Millis, timers: Timers): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  child.kill('SIGTERM');
  const timer = timers.after(within, () => void child.kill('SIGKILL'));
  await exited;
  timer.cancel();
};

const LAST_LINES = 5;

/** What the process said last is usually why. */
const reason = async (error: unknown, spec: ProcessSpec): Promise<string> => {
  const said = await readFile(spec.logFile, 'utf8').catch(() => '');
  const tail = said.trim().split('\n').slice(-LAST_LINES).join('\n  ');
  return `${error instanceof Error ? error.message : String(error)} (log: ${spec.logFile})${tail && `\n  ${tail}`}`;
};

const MAX_LOG_BYTES = 16 * 2 ** 20;

/** One older file is kept, so that a system that restarts for ever does not fill the disk. */
const keepLogShort = async (file: string): Promise<void> => {
  const size = await stat(file).then(
    (found) => found.size,
    () => 0,
  );
  if (size > MAX_LOG_BYTES) await rename(file, `${file}.1`);
};
