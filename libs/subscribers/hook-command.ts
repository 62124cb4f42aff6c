import { spawn } from 'node:child_process';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import type { RecordedEvent } from '#event-store';
import type { Millis, Timers } from '#kernel';
import { noticeOf, subjectOf } from './notice.js';
import type { Deliver } from './ports.js';

export interface HookCommandOptions {
  /** Program and arguments. */
  readonly command: readonly string[];
  readonly timeout: Millis;
}

/** Of what it wrote to stderr, for the reason of its failure. */
const KEPT = 1_000;
/** What a hook needs of the environment; the control plane's own is full of secrets. */
const PASSED_ON = ['PATH', 'HOME', 'LANG', 'TZ', 'TMPDIR'];

/**
 * Delivers by running a program for each event: the notice on its standard input, type and subject in its environment. Exit
 * code 0 means taken. One that takes too long is killed with all it started.
 */
export const hookCommand =
  ({ command, timeout }: HookCommandOptions, timers: Timers): Deliver =>
  async (event, signal) => {
    const [program = '', ...args] = command;
    const child = spawn(program, args, { env: environmentOf(event), detached: true, stdio: ['pipe', 'pipe', 'pipe'] });
    const late = new AbortController();
    const timer = timers.after(timeout, () => late.abort());
    const over = AbortSignal.any([signal, late.signal]);
    over.addEventListener('abort', () => kill(child), { once: true });
    const failure = await endOf(child, noticeOf(event));
    timer.cancel();
    if (late.signal.aborted) throw new Error(`it did not end within ${String(timeout / 1000)} s`);
    if (failure !== undefined) throw new Error(failure);
  };

/** Undefined when it went well. */
const endOf = (child: ChildProcessWithoutNullStreams, input: string): Promise<string | undefined> => {
  let words = '';
  child.stdout.resume();
  child.stderr.on('data', (chunk: Buffer) => (words = (words + chunk.toString()).slice(-KEPT)));
  // A program that does not read its input is none the worse for it.
  child.stdin.on('error', () => undefined).end(input);
  return new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, by) => resolve(code === 0 ? undefined : inWords(code ?? by ?? 'nothing', words)));
  });
};

const inWords = (end: number | string, words: string): string =>
  `it ended with ${String(end)}${words === '' ? '' : `: ${words.trim()}`}`;

/** The whole group: it is the leader of one of its own. */
const kill = ({ pid }: ChildProcessWithoutNullStreams): void => {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended meanwhile.
  }
};

const environmentOf = (event: RecordedEvent): Record<string, string> => ({
  ...Object.fromEntries(
    PASSED_ON.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
  ),
  ESCALON_EVENT: event.type,
  ESCALON_SUBJECT: subjectOf(event),
  ESCALON_DELIVERY: event.id,
});
