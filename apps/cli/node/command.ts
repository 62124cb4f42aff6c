import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { openSession } from '../client/session.js';
import { usage } from '../exit-codes.js';
import { limitOption } from '../job/arguments.js';
import { writeList, writeOne } from '../output/format.js';
import { viewFields, viewsTable } from '../output/sections.js';
import type { Command } from 'commander';
import type { Session } from '../client/session.js';
import type { Io } from '../io.js';

type View = Readonly<Record<string, unknown>>;

const COLUMNS = [
  ['node', 'id'],
  ['state', 'state'],
  ['institution', 'institution'],
  ['owner', 'owner'],
  ['running', 'executions'],
  ['free', 'free'],
] as const;

export const addNode = (program: Command, io: Io): void => {
  const node = program.command('node').summary('machines that take work').description('Works with nodes.');
  node
    .command('list')
    .summary('all nodes')
    .description('Lists all enrolled nodes.')
    .addOption(limitOption())
    .addHelpText('after', '\nExample:\n  escalon node list')
    .action(async (_flags, command: Command) => list(await openSession(command, io)));
  node
    .command('show')
    .argument('<node>', 'its name')
    .summary('one node')
    .description('Shows one node: inventory, policy, presence, reserved and free capacity.')
    .addHelpText('after', '\nExample:\n  escalon node show lab-3 --output json')
    .action(async (name: string, _flags, command: Command) => show(name, await openSession(command, io)));
  addChanges(node, io);
  addPolicy(node, io);
};

const pathOf = (name: string, rest = ''): string => `/nodes/${encodeURIComponent(name)}${rest}`;

const list = async ({ api, io, output, flags }: Session<{ limit: number }>): Promise<void> => {
  const nodes = await api.list<View>('/nodes', {}, flags.limit);
  writeList(io.out, output, nodes, () => viewsTable(COLUMNS, nodes));
};

const show = async (name: string, { api, io, output }: Session<object>): Promise<void> => {
  const node = await api.get<View>(pathOf(name));
  writeOne(io.out, output, node, () => viewFields(node, ['id', 'state', 'institution', 'owner']));
};

const addChanges = (node: Command, io: Io): void => {
  const verb = (name: string, summary: string, reason: boolean): void => {
    const command = node.command(name).argument('<node>', 'its name').summary(summary).description(`${summary}.`);
    if (reason) command.requiredOption('--reason <text>', 'why; it is recorded');
    if (name === 'drain') command.option('--deadline <time>', 'when what still runs is stopped');
    command.addHelpText('after', `\nExample:\n  escalon node ${name} lab-3${reason ? ' --reason "new disks"' : ''}`);
    command.action(async (id: string, _flags, at: Command) => {
      const { api, output, flags } = await openSession<{ reason?: string; deadline?: string }>(at, io);
      const { reason, deadline } = flags;
      const answer = await api.post<View>(
        pathOf(id, `/${name}`),
        { reason, deadline },
        { 'idempotency-key': io.ids.next() },
      );
      writeOne(io.out, output, answer, () => viewFields(answer, ['id']));
    });
  };
  verb('drain', 'Give the node no new work and let it run empty', true);
  verb('cordon', 'Give the node no new work', true);
  verb('uncordon', 'Give the node work again', false);
};

const addPolicy = (node: Command, io: Io): void => {
  node
    .command('policy')
    .argument('<node>', 'its name')
    .argument('<file>', 'the policy, YAML or JSON')
    .summary("replace the owner's policy")
    .description("Replaces the owner's policy: who may use the node, when, how long, at what price.")
    .addHelpText('after', '\nExample:\n  escalon node policy lab-3 policy.yaml')
    .action(async (name: string, file: string, _flags, command: Command) => {
      const { api, output } = await openSession(command, io);
      const answer = await api.put<View>(pathOf(name, '/policy'), await readYaml(file));
      writeOne(io.out, output, answer, () => viewFields(answer, ['id']));
    });
};

/** A YAML or JSON file as a value; what is wrong with it is a mistake of the caller. */
export const readYaml = async (file: string): Promise<unknown> => {
  try {
    return parse(await readFile(file, 'utf8')) as unknown;
  } catch (error) {
    throw usage(`${file}: ${error instanceof Error ? error.message : String(error)}`);
  }
};
