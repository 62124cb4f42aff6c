import { Option } from 'commander';
import { openSession } from '../client/session.js';
import { writeOne } from '../output/format.js';
import { addLocalTokens } from '../up/tokens-command.js';
import type { Command } from 'commander';
import type { Io } from '../io.js';

const ROLES = ['researcher', 'operator', 'auditor', 'node'];

interface TokenFlags {
  readonly role: string;
  readonly account: string;
}

export const addToken = (program: Command, io: Io): void => {
  const token = program.command('token').summary('who may call').description('Works with bearer tokens.');
  token
    .command('create')
    .summary('a token for a person, a program or a new node')
    .description('Issues a bearer token and prints it, once. A node token may only enrol nodes.')
    .addOption(new Option('--role <role>', 'what it may do').choices(ROLES).makeOptionMandatory())
    .requiredOption('--account <account>', 'whom it speaks for')
    .addHelpText('after', '\nExample:\n  escalon token create --role researcher --account ana')
    .action(async (_flags, command: Command) => {
      const { client, output, flags } = await openSession<TokenFlags>(command, io);
      const { role, account } = flags;
      const answer = await client.createToken(role, account);
      writeOne(io.out, output, answer, () => `${answer.token}\n`);
    });
  addLocalTokens(token, io);
};
