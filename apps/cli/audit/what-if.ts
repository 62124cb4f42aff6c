import { watch } from './watch.js';
import type { ChangedDecision, DecisionRange, WhatIfSummary } from '#contracts';
import type { Command } from 'commander';
import { positionArgument } from '../job/arguments.js';
import { openSession } from '../client/session.js';
import { renderTable } from '../output/table.js';
import type { Session } from '../client/session.js';
import type { Io } from '../io.js';

interface WhatIfFlags extends DecisionRange {
  readonly weights: string;
  readonly profile?: string;
}

export const addWhatIf = (program: Command, io: Io): void => {
  program
    .command('whatif')
    .summary('what other weights would have decided')
    .description(
      'Makes recorded decisions again with other weights and lists those that another node would have won. All five factors\n' +
        'are named, each 0 to 100: resources, reliability, availability, queue, cost. Needs an operator or auditor.',
    )
    .requiredOption('--weights <weights>', 'such as resources=40,reliability=20,availability=20,queue=10,cost=10')
    .option('--profile <profile>', 'only decisions that were made under this profile')
    .option('--job <id>', 'only decisions about this job')
    .option('--from <position>', 'recorded after this position of the log', positionArgument)
    .option('--to <position>', 'recorded at this position or before', positionArgument)
    .addHelpText(
      'after',
      '\nExample:\n  escalon whatif --weights resources=40,reliability=20,availability=20,queue=10,cost=10',
    )
    .action(async (_flags, command: Command) => whatIf(await openSession<WhatIfFlags>(command, io)));
};

const whatIf = async (session: Session<WhatIfFlags>): Promise<void> => {
  const { client, io, output, flags } = session;
  const names = ['profile', 'job', 'from', 'to'] as const;
  const given = names.flatMap((name) => (flags[name] === undefined ? [] : [[name, flags[name]]]));
  const { summary, findings } = await watch(
    client.whatIf(flags.weights, Object.fromEntries(given) as DecisionRange),
    session,
    changeText,
  );
  if (output === 'json') io.out.write(`${JSON.stringify({ ...summary, changes: findings }, null, 2)}\n`);
  else (output === 'table' ? io.out : io.err).write(summaryText(summary));
};

const changeText = ({ jobId, number, winner, margin, otherWinner, otherMargin }: ChangedDecision): string =>
  `decision ${number} of ${jobId}: ${winner} (by ${marginText(margin)}) → ${otherWinner} (by ${marginText(otherMargin)})\n`;

const marginText = (margin: number | null): string => margin?.toFixed(3) ?? '–';

const summaryText = ({ considered, changed, passedOver, byProject, byApplication }: WhatIfSummary): string => {
  const tallies = [...rowsOf('project', byProject), ...rowsOf('application', byApplication)];
  const table = tallies.length > 0 ? `\n${renderTable(['of', 'name', 'considered', 'changed'], tallies)}` : '';
  const others = passedOver > 0 ? `; ${passedOver} of another profile or version passed over` : '';
  return `${changed} of ${considered} decisions change${others}\n${table}`;
};

const rowsOf = (of: string, tallies: WhatIfSummary['byProject']): string[][] =>
  Object.entries(tallies).map(([name, { considered, changed }]) => [of, name, String(considered), String(changed)]);
