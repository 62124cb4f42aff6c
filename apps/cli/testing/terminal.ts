import { countingIds, systemClock, systemTimers } from '#kernel';
import { run } from '../program.js';
import type { Io, Sink } from '../io.js';

/** What a command line came to. */
export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs a command line as a pipe would see it: nobody watches, and both streams are kept. */
export const runCli = async (argv: readonly string[], world: Partial<Pick<Io, 'env' | 'cwd'>> = {}): Promise<Ran> => {
  const [out, err] = [keptSink(), keptSink()];
  const ports = { clock: systemClock, timers: systemTimers, ids: countingIds() };
  const code = await run(argv, { out, err, env: world.env ?? {}, cwd: world.cwd ?? '/nowhere', ...ports });
  return { code, out: out.text(), err: err.text() };
};

const keptSink = (): Sink & { text(): string } => {
  let text = '';
  return { isTerminal: false, write: (more) => void (text += more), text: () => text };
};
