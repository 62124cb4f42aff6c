import { portOf } from '../up/flags.js';
import type { Command } from 'commander';
import type { Io } from '../io.js';
import type { DemoFlags } from './flags.js';

export const addDemo = (program: Command, io: Io): void => {
  program
    .command('demo')
    .summary('see two real jobs run, from submission to verified record')
    .description(
      'Starts a whole system in a folder of its own, runs two real jobs, shows each step with its reasons, checks the\n' +
        'record, and stops everything. Ends with exit code 0 only when everything holds.',
    )
    .option('--port <port>', 'port of the API; 0 takes a free one', portOf, 0)
    .option('--out <folder>', 'where the results are put', '.escalon/demo')
    .option('--keep', 'leave the system running at the end, until Ctrl-C')
    .addHelpText('after', '\nExample:\n  escalon demo')
    .action(async (_flags, command: Command) => {
      const { demo } = await import('./run.js');
      await demo(command.optsWithGlobals<DemoFlags>(), io);
    });
};
