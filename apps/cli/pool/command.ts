import { Option } from 'commander';
import { openSession } from '../client/session.js';
import { usage } from '../exit-codes.js';
import { writeList, writeOne } from '../output/format.js';
import { renderFields, renderTable } from '../output/table.js';
import type { Command } from 'commander';
import type { PoolView } from '#contracts';
import type { Io } from '../io.js';

export const addPool = (program: Command, io: Io): void => {
  const verbs = program
    .command('pool')
    .summary('nodes with one queue discipline')
    .description('Works with pools: named sets of nodes with one queue discipline each.');
  verbs
    .command('list')
    .summary('all pools')
    .description('Lists all pools, with who is first in line and when it is expected to start.')
    .addHelpText('after', '\nExample:\n  escalon pool list')
    .action(async (_flags, command: Command) => {
      const { client, output } = await openSession(command, io);
      const pools: PoolView[] = [];
      for await (const pool of client.pools()) pools.push(pool);
      writeList(io.out, output, pools, () => poolsTable(pools));
    });
  verbs
    .command('show')
    .argument('<pool>', 'its name')
    .summary('one pool')
    .description('Shows one pool: its nodes, who is first in line, and when that is expected to start.')
    .addHelpText('after', '\nExample:\n  escalon pool show gpu-large')
    .action(async (name: string, _flags, command: Command) => {
      const { client, output } = await openSession(command, io);
      const pool = await client.pool(name);
      writeOne(io.out, output, pool, () => poolFields(pool));
    });
  addSet(verbs, io);
  verbs
    .command('delete')
    .argument('<pool>', 'its name')
    .summary('take all nodes out of a pool')
    .description('Takes all nodes out of a pool; they take whatever fits, as nodes of no pool do.')
    .addHelpText('after', '\nExample:\n  escalon pool delete gpu-large')
    .action(async (name: string, _flags, command: Command) => {
      const { client, output } = await openSession(command, io);
      const { body } = await client.deletePool(name);
      writeOne(io.out, output, body, () => poolFields(body));
    });
};

interface SetFlags {
  readonly discipline: string;
  readonly nodes?: string;
  readonly where?: string;
}

const addSet = (verbs: Command, io: Io): void => {
  verbs
    .command('set')
    .argument('<pool>', 'its name')
    .addOption(
      new Option('--discipline <discipline>', 'who is next')
        .choices(['fifo', 'priority', 'backfill'])
        .makeOptionMandatory(),
    )
    .option('--nodes <names>', 'its nodes, by name, with commas')
    .option('--where <constraint>', 'its nodes are those on which this holds now')
    .summary('say which nodes belong to a pool, and who is next there')
    .description(
      'Makes these nodes, and no others, a pool with this discipline. A node leaves the pool that it was in.',
    )
    .addHelpText(
      'after',
      "\nExamples:\n  escalon pool set lab --discipline fifo --nodes lab-1,lab-2\n  escalon pool set gpu --discipline backfill --where 'node.gpus > 0'",
    )
    .action(async (name: string, _flags, command: Command) => {
      const { client, output, flags } = await openSession<SetFlags>(command, io);
      const { body } = await client.setPool(name, { discipline: flags.discipline, ...whichNodes(flags) });
      writeOne(io.out, output, body, () => poolFields(body));
    });
};

const whichNodes = ({ nodes, where }: SetFlags): { readonly nodes: readonly string[] } | { readonly where: string } => {
  if (nodes !== undefined && where === undefined) return { nodes: nodes.split(',').map((name) => name.trim()) };
  if (where !== undefined && nodes === undefined) return { where };
  throw usage('error: exactly one of --nodes and --where says which nodes');
};

const poolsTable = (pools: readonly PoolView[]): string =>
  renderTable(
    ['pool', 'discipline', 'nodes', 'waiting', 'first', 'expected start'],
    pools.map((pool) => [
      pool.name,
      pool.discipline,
      nodesText(pool),
      String(pool.waiting),
      pool.first?.jobId ?? '',
      startText(pool),
    ]),
  );

const poolFields = (pool: PoolView): string =>
  renderFields([
    ['pool', pool.name],
    ['discipline', pool.discipline],
    ['nodes', nodesText(pool)],
    ['waiting', String(pool.waiting)],
    ['first', pool.first?.jobId],
    ['expected start', startText(pool) || undefined],
  ]);

const nodesText = ({ nodes, size }: PoolView): string =>
  [...nodes, ...(size > nodes.length ? [`${size - nodes.length} more`] : [])].join(', ');

const startText = ({ first }: PoolView): string => {
  if (!first?.hold) return '';
  const { from, nodeId } = first.hold;
  return `${from ?? 'unknown'} on ${nodeId}`;
};
