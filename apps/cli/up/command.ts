import { portOf } from './flags.js';
import type { Command } from 'commander';
import type { Io } from '../io.js';
import type { UpFlags } from './flags.js';

export const addUp = (program: Command, io: Io): void => {
  program
    .command('up')
    .summary('run the whole system on this machine')
    .description(
      'Runs event store, Postgres, control plane and one agent for this machine; a second start resumes.\n' +
        'ESDB_URL and DATABASE_URL name servers of your own instead of the embedded ones.',
    )
    .option('--port <port>', 'port of the API on 127.0.0.1; 0 takes a free one (default: PORT or 8080)', portOf)
    .option('--no-agent', 'run no agent here')
    .option('--name <node>', 'name of this node (default: from the host name)')
    .addHelpText('after', '\nExample:\n  escalon up --port 0')
    .action(async (_flags, command: Command) => {
      // Loaded here, so that the other verbs start without Postgres' and SQLite's code.
      const { up } = await import('./run.js');
      await up(command.optsWithGlobals<UpFlags>(), io);
    });
};
