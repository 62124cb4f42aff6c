import { dataFolderOf } from '../connection.js';
import type { Command } from 'commander';
import type { ConnectionFlags } from '../connection.js';
import type { Io } from '../io.js';

/** For systems that are not started by `up`: puts the tokens where local programs look for them. */
export const addLocalTokens = (token: Command, io: Io): void => {
  token
    .command('write-local')
    .summary('put the operator’s and the enrolment token into the data folder')
    .description(
      'Signs the two tokens that `escalon up` would write, with the secret of ESCALON_SECRET (made when there is none), and\n' +
        'puts them into the data folder, mode 0600. Needs no server.',
    )
    .addHelpText('after', '\nExample:\n  escalon token write-local --data /data')
    .action(async (_flags, command: Command) => {
      const { openDataFolder } = await import('./data-folder.js');
      const { ensureSecret, writeLocalTokens } = await import('./tokens.js');
      const folder = await openDataFolder(dataFolderOf(command.optsWithGlobals<ConnectionFlags>(), io));
      await writeLocalTokens(folder, io.env.ESCALON_SECRET || (await ensureSecret(folder)));
      io.err.write(`wrote ${folder.adminToken} and ${folder.enrolToken}\n`);
    });
};
