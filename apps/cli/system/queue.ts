import { openSession, take } from '../client/session.js';
import { limitOption } from '../job/arguments.js';
import { writeList } from '../output/format.js';
import { viewsTable } from '../output/sections.js';
import type { Command } from 'commander';
import type { Io } from '../io.js';

const COLUMNS = [
  ['priority', 'priority'],
  ['name', 'name'],
  ['project', 'project'],
  ['share', 'share'],
  ['since', 'since'],
  ['id', 'jobId'],
  ['expected start', 'lines.0.expectedStart'],
  ['behind', 'lines.0.behind'],
  ['why', 'reason'],
] as const;

export const addQueue = (program: Command, io: Io): void => {
  program
    .command('queue')
    .summary('what waits, and why')
    .description('Lists what waits, in order, with the reasons and since when.')
    .addOption(limitOption())
    .addHelpText('after', '\nExample:\n  escalon queue')
    .action(async (_flags, command: Command) => {
      const { client, output, flags } = await openSession<{ limit: number }>(command, io);
      const waiting = await take(client.queue(), flags.limit);
      writeList(io.out, output, waiting, () => viewsTable(COLUMNS, waiting));
    });
};
