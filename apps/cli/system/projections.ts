import { openSession } from '../client/session.js';
import { EXIT, Exit, usage } from '../exit-codes.js';
import { writeList } from '../output/format.js';
import { progressOn } from '../output/progress.js';
import { viewsTable } from '../output/sections.js';
import type { Command } from 'commander';
import type { EscalonClient } from '#contracts';
import type { Millis } from '#kernel';
import type { Session } from '../client/session.js';
import type { Io } from '../io.js';

interface ProjectionStatus {
  readonly name: string;
  readonly state: string;
  readonly rebuild: { readonly fraction: number } | null;
  readonly [field: string]: unknown;
}

const COLUMNS = [
  ['projection', 'name'],
  ['state', 'state'],
  ['position', 'position'],
  ['lag (events)', 'lagEvents'],
  ['lag (s)', 'lagSeconds'],
  ['last error', 'lastError'],
] as const;

export const addProjections = (program: Command, io: Io): void => {
  const projections = program
    .command('projections')
    .summary('how far the read models are')
    .description('Works with read models.');
  projections
    .command('status')
    .summary('lag of every read model')
    .description('Shows how far each read model is behind, in events and seconds.')
    .addHelpText('after', '\nExample:\n  escalon projections status')
    .action(async (_flags, command: Command) => {
      const { client, output } = await openSession(command, io);
      const status = await statusOf(client);
      writeList(io.out, output, status, () => viewsTable(COLUMNS, status));
    });
  projections
    .command('rebuild')
    .argument('[name]', 'the read model')
    .option('--all', 'every one, one after the other')
    .summary('fill a read model again from the log')
    .description('Fills new tables from the log beside the present ones, then switches. Readers notice nothing.')
    .addHelpText('after', '\nExample:\n  escalon projections rebuild jobs')
    .action(async (name: string | undefined, _flags, command: Command) =>
      rebuild(name, await openSession(command, io)),
    );
};

const statusOf = async (client: EscalonClient): Promise<readonly ProjectionStatus[]> =>
  (await client.projections()).items as readonly ProjectionStatus[];

const rebuild = async (name: string | undefined, session: Session<{ all?: boolean }>): Promise<void> => {
  if ((name === undefined) !== (session.flags.all ?? false)) throw usage('name one projection, or say --all');
  const names = name === undefined ? (await statusOf(session.client)).map((one) => one.name) : [name];
  for (const each of names) await rebuildOne(each, session);
};

const LOOK_EVERY: Millis = 300;

/** Asks for the rebuild, then looks at its status until it is over, one way or the other. */
const rebuildOne = async (name: string, { client, io }: Session<object>): Promise<void> => {
  const progress = progressOn(io.err);
  try {
    await client.rebuildProjection(name);
    for (let found = await one(client, name); found.state === 'rebuilding'; found = await one(client, name)) {
      progress.at(found.rebuild?.fraction ?? 0, name);
      await new Promise<void>((resolve) => void io.timers.after(LOOK_EVERY, resolve));
    }
    progress.line(`${name} is rebuilt`);
  } finally {
    progress.stop();
  }
};

const one = async (client: EscalonClient, name: string): Promise<ProjectionStatus> => {
  const found = (await statusOf(client)).find((status) => status.name === name);
  if (!found) throw new Exit(EXIT.failed, `the projection ${name} has disappeared`);
  return found;
};
