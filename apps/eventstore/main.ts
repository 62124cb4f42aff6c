import { resolve } from 'node:path';
import { systemClock, systemTimers } from '#kernel';
import { readUsers } from './access/users.js';
import { USAGE, parseArguments } from './process/arguments.js';
import type { Arguments } from './process/arguments.js';
import { jsonLogger } from './process/json-logger.js';
import { watchParent, watchStdin } from './process/parent.js';
import { startEventStore } from './server.js';
import type { RunningEventStore } from './server.js';

const logger = jsonLogger(systemClock);

/**
 * The event store as a process of its own. Prints one line of JSON to stdout when it listens; runs until SIGTERM,
 * SIGINT or the end of its parent; exits with 0 after an orderly stop and with 1 and one line on stderr otherwise.
 */
const main = async (): Promise<void> => {
  const options = readOptions();
  const file = resolve(options.file);
  const store = await startEventStore({
    file,
    host: options.host,
    port: options.port,
    allowAnonymous: options.allowAnonymous,
    logger,
    ...(options.tls && { tls: options.tls }),
    ...(options.usersFile !== undefined && { users: readUsers(options.usersFile) }),
    ...(options.maxAppendSize !== undefined && { maxAppendSize: options.maxAppendSize }),
  });
  stopWhenAsked(options, store);
  process.stdout.write(`${JSON.stringify({ ready: true, host: store.host, port: store.port, file })}\n`);
};

const readOptions = (): Arguments => {
  try {
    return parseArguments(process.argv.slice(2));
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${USAGE}`, { cause: error });
  }
};

const stopWhenAsked = ({ parentPid, exitWithParent }: Arguments, store: RunningEventStore): void => {
  const stop = (why: string): void => {
    logger.info('stopping', { why });
    store.stop().then(() => process.exit(0), fail);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stop(signal));
  if (parentPid !== undefined) watchParent(parentPid, systemTimers, () => stop('the parent has ended'));
  if (exitWithParent) watchStdin(process.stdin, () => stop('the parent has closed stdin'));
};

const fail = (error: unknown): void => {
  process.stderr.write(`eventstore: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
};

for (const fault of ['uncaughtException', 'unhandledRejection'] as const) {
  process.on(fault, (error: unknown) => {
    logger.error(fault, { error: error instanceof Error ? error.stack : String(error) });
    fail(error);
  });
}
main().catch(fail);
