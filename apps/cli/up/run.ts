import { PortTaken } from '#platform/postgres';
import { dataFolderOf } from '../connection.js';
import { EXIT, Exit } from '../exit-codes.js';
import { portOf } from './flags.js';
import { DataFolderInUse } from './lock.js';
import { stopSignals } from './signals.js';
import { bringUp } from './system.js';
import type { Io } from '../io.js';
import type { UpFlags } from './flags.js';
import type { System, UpOptions } from './system.js';

const DEFAULT_PORT = 8080;

/** Runs the system until it is asked to stop. */
export const up = async (flags: UpFlags, io: Io): Promise<void> => {
  const say = (line: string): void => io.err.write(`${line}\n`);
  const stop = stopSignals(() => say('stopping …'));
  const system = await bringUpOrExplain(optionsOf(flags, io, say), stop.signal);
  say('');
  say(`Escalon is up at ${system.url}`);
  say(`token in ${system.folder.adminToken}; logs in ${system.folder.services}; Ctrl-C stops everything`);
  if (flags.output !== 'table') io.out.write(`${JSON.stringify({ ready: true, url: system.url })}\n`);
  await stop.asked;
  await system.stop();
  say('stopped');
};

const optionsOf = (flags: UpFlags, io: Io, say: (line: string) => void): UpOptions => ({
  data: dataFolderOf(flags, io),
  port: flags.port ?? (io.env.PORT ? portOf(io.env.PORT) : DEFAULT_PORT),
  agent: flags.agent,
  ...(flags.name === undefined ? {} : { node: flags.name }),
  env: io.env,
  clock: io.clock,
  timers: io.timers,
  say,
});

/** What a person can mend is told in one line; anything else is a fault with its stack. */
const bringUpOrExplain = async (options: UpOptions, signal: AbortSignal): Promise<System> => {
  try {
    return await bringUp(options, signal);
  } catch (error) {
    if (signal.aborted) throw new Exit(EXIT.done, 'stopped');
    if (error instanceof DataFolderInUse) throw new Exit(EXIT.failed, error.message);
    if (error instanceof PortTaken) {
      throw new Exit(EXIT.failed, `${error.message}; choose another with --port, or --port 0 for a free one`);
    }
    throw error;
  }
};
