import { destination, pino } from 'pino';
import type { Logger } from 'pino';
import { runAgent } from './agent.js';
import { messageOf } from './client/errors.js';
import { aborted } from './client/wait.js';
import { readCommandLine, USAGE } from './config/command-line.js';
import type { CommandLine } from './config/command-line.js';
import { shedToken } from './config/shed-token.js';

/** Starts the agent and answers the process's exit code once it is told to end: 0, 1 when it failed, 2 for wrong usage. */
const main = async (): Promise<number> => {
  let line: CommandLine | undefined;
  const token = shedToken();
  try {
    line = await readCommandLine(process.argv.slice(2), { ...process.env, ...(token && { ESCALON_TOKEN: token }) });
  } catch (error) {
    process.stderr.write(`${messageOf(error)}\n${USAGE}`);
    return 2;
  }
  if (!line) {
    process.stdout.write(USAGE);
    return 0;
  }
  const log = pino({ level: line.logLevel, base: { node: line.options.name } }, destination({ fd: 2, sync: true }));
  return run(line, log);
};

/** Milliseconds that running tasks get to finish: within what service managers wait for. */
const DRAIN = 20_000;

/** Told to end once, it drains; told again, it ends its tasks. */
const run = async ({ options, exitWithParent }: CommandLine, log: Logger): Promise<number> => {
  const ended = new AbortController();
  const again = new AbortController();
  const told = (): void => (ended.signal.aborted ? again : ended).abort();
  if (exitWithParent) for (const gone of ['end', 'error']) process.stdin.resume().once(gone, () => ended.abort());
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, told);
  try {
    const agent = await runAgent({ ...options, log }, ended.signal);
    process.on('SIGHUP', () => void agent.probe());
    process.stdout.write(`${JSON.stringify({ ready: true, nodeId: agent.nodeId })}\n`);
    await aborted(ended.signal);
    if (!options.detach) await agent.drain(options.drain ?? DRAIN, again.signal);
    await agent.stop();
    return 0;
  } catch (error) {
    if (ended.signal.aborted) return 0;
    log.fatal({ reason: messageOf(error) }, 'the agent cannot run');
    return 1;
  }
};

process.exit(await main());
