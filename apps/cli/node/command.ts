import { openSession, take } from '../client/session.js';
import { readYaml } from '../input-file.js';
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
  readonly reason?: string;
  readonly deadline?: string;
}

type Ask = (client: EscalonClient, node: string, flags: ChangeFlags) => Promise<Written<NodeView>>;

const addChanges = (node: Command, io: Io): void => {
  const verb = (name: string, summary: string, reason: 'required' | 'optional' | 'none', ask: Ask): Command => {
    const command = node.command(name).argument('<node>', 'its name').summary(summary).description(`${summary}.`);
    if (reason === 'required') command.requiredOption('--reason <text>', 'why (required); it is recorded');
    if (reason === 'optional') command.option('--reason <text>', 'why; it is recorded');
    command.addHelpText(
      'after',
      `\nExample:\n  escalon node ${name} lab-3${reason !== 'none' ? ' --reason "new disks"' : ''}`,
    );
    return command.action(async (id: string, _flags, at: Command) => {
      const { client, output, flags } = await openSession<ChangeFlags>(at, io);
      const { body } = await ask(client, id, flags);
      writeOne(io.out, output, body, () => viewFields(body, ['id']));
    });
  };
  verb('drain', 'Give the node no new work and let it run empty', 'required', (client, id, { reason = '', deadline }) =>
    client.drainNode(id, reason, deadline),
  ).option('--deadline <time>', 'when what still runs is stopped');
  // Without a reason the server records that none was given.
  verb('cordon', 'Give the node no new work', 'optional', (client, id, { reason = '' }) =>
    client.cordonNode(id, reason),
  );
  verb('uncordon', 'Give the node work again', 'none', (client, id) => client.uncordonNode(id));
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
      const { body } = await client.setPolicy(name, await readYaml(file, io.cwd));
      writeOne(io.out, output, body, () => viewFields(body, ['id']));
    });
};
