import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { openSession, take } from '../client/session.js';
import { usage } from '../exit-codes.js';
import { limitOption } from '../job/arguments.js';
import { writeList, writeOne } from '../output/format.js';
import { viewFields } from '../output/sections.js';
import { nodeFields, nodesTable } from './tables.js';
import type { Command } from 'commander';
import type { EscalonClient, NodeView, Written } from '#contracts';
import type { Session } from '../client/session.js';
import type { Io } from '../io.js';

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

const list = async ({ client, io, output, flags }: Session<{ limit: number }>): Promise<void> => {
  const nodes = await take(client.nodes(), flags.limit);
  writeList(io.out, output, nodes, () => nodesTable(nodes));
};

const show = async (name: string, { client, io, output }: Session<object>): Promise<void> => {
  const node = await client.node(name);
  writeOne(io.out, output, node, () => nodeFields(node));
};

interface ChangeFlags {
  readonly reason: string;
  readonly deadline?: string;
}

type Ask = (client: EscalonClient, node: string, flags: ChangeFlags) => Promise<Written<NodeView>>;

const addChanges = (node: Command, io: Io): void => {
  const verb = (name: string, summary: string, reason: boolean, ask: Ask): Command => {
    const command = node.command(name).argument('<node>', 'its name').summary(summary).description(`${summary}.`);
    if (reason) command.requiredOption('--reason <text>', 'why; it is recorded');
    command.addHelpText('after', `\nExample:\n  escalon node ${name} lab-3${reason ? ' --reason "new disks"' : ''}`);
    return command.action(async (id: string, _flags, at: Command) => {
      const { client, output, flags } = await openSession<ChangeFlags>(at, io);
      const { body } = await ask(client, id, flags);
      writeOne(io.out, output, body, () => viewFields(body, ['id']));
    });
  };
  verb('drain', 'Give the node no new work and let it run empty', true, (client, id, { reason, deadline }) =>
    client.drainNode(id, reason, deadline),
  ).option('--deadline <time>', 'when what still runs is stopped');
  verb('cordon', 'Give the node no new work', true, (client, id, { reason }) => client.cordonNode(id, reason));
  verb('uncordon', 'Give the node work again', false, (client, id) => client.uncordonNode(id));
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
      const { client, output } = await openSession(command, io);
      // What it holds is the server's to judge.
      const { body } = await client.setPolicy(name, await readYaml(file));
      writeOne(io.out, output, body, () => viewFields(body, ['id']));
    });
};

/** A YAML or JSON file as a value; what is wrong with it is a mistake of the caller. */
export const readYaml = async (file: string): Promise<object> => {
  try {
    return parse(await readFile(file, 'utf8')) as object;
  } catch (error) {
    throw usage(`${file}: ${error instanceof Error ? error.message : String(error)}`);
  }
};
