import { openSession, take } from '../client/session.js';
import { readYaml } from '../input-file.js';
import { writeList, writeOne } from '../output/format.js';
import { viewFields, viewsTable } from '../output/sections.js';
import type { Command } from 'commander';
import type { Io } from '../io.js';

const COLUMNS = [
  ['project', 'id'],
  ['institution', 'institution'],
  ['weight', 'weight'],
  ['members', 'members'],
  ['quota', 'quota'],
] as const;

export const addProject = (program: Command, io: Io): void => {
  const project = program.command('project').summary('who works together').description('Works with projects.');
  project
    .command('list')
    .summary('all projects')
    .description('Lists all projects.')
    .addHelpText('after', '\nExample:\n  escalon project list')
    .action(async (_flags, command: Command) => {
      const { client, output } = await openSession(command, io);
      const projects = await take(client.projects(), Number.POSITIVE_INFINITY);
      writeList(io.out, output, projects, () => viewsTable(COLUMNS, projects));
    });
  project
    .command('put')
    .argument('<project>', 'its name')
    .argument('<file>', 'institution, members, quota and weight, YAML or JSON')
    .summary('create or change a project')
    .description('Creates a project or replaces its configuration.')
    .addHelpText('after', '\nExample:\n  escalon project put reef reef.yaml')
    .action(async (name: string, file: string, _flags, command: Command) => {
      const { client, output } = await openSession(command, io);
      const { body } = await client.putProject(name, await readYaml(file, io.cwd));
      writeOne(io.out, output, body, () => viewFields(body, ['id']));
    });
};
