import { openSession } from '../client/session.js';
import { usage } from '../exit-codes.js';
import { readText } from '../input-file.js';
import { positionArgument } from '../job/arguments.js';
import { writeOne } from '../output/format.js';
import { renderFields, renderTable } from '../output/table.js';
import { readExport, writeExport } from './export.js';
import type { Command } from 'commander';
import type { Session } from '../client/session.js';
import type { Io } from '../io.js';
import { verify } from './verify.js';
import type { DecisionRange, RawEvent } from '#contracts';
import type { ReplayedState } from './replay.js';

export const addAudit = (program: Command, io: Io): void => {
  const audit = program
    .command('audit')
    .summary('what is recorded, and what it comes to')
    .description('Reads the record, and checks it.');
  audit
    .command('export')
    .argument('<id>', 'the job')
    .summary('every event of a job as NDJSON')
    .description(
      'Writes every event of a job, oldest first, one JSON a line, and at the end a digest over those lines.',
    )
    .addHelpText('after', '\nExample:\n  escalon audit export 0198… > job.ndjson')
    .action(async (id: string, _flags, command: Command) => {
      const { client } = await openSession(command, io);
      writeExport((await client.jobEvents(id)).items, io.out);
    });
  audit
    .command('replay')
    .argument('[id]', 'the job')
    .summary('the state of a job at any moment')
    .description("Folds the job's events with the rules of the domain, here, and prints the state that was true then.")
    .option('--at <moment>', 'a revision, or a time such as 2026-11-29T20:11:05Z (default: the last)')
    .option('--file <export>', 'read an exported file instead of asking the server')
    .addHelpText('after', '\nExample:\n  escalon audit replay 0198… --at 4 --output json')
    .action(async (id: string | undefined, _flags, command: Command) =>
      printReplay(id, await openSession(command, io)),
    );
  addVerify(audit, io);
};

const addVerify = (audit: Command, io: Io): void => {
  audit
    .command('verify')
    .summary('derive every decision again and compare')
    .description(
      'Has the server fold the log, make each recorded decision again and compare the two, value by value. What differs is\n' +
        'listed, recorded → derived, and the exit code is then 1. Needs an operator or auditor.',
    )
    .option('--job <id>', 'only decisions about this job')
    .option('--from <position>', 'recorded after this position of the log', positionArgument)
    .option('--to <position>', 'recorded at this position or before', positionArgument)
    .addHelpText('after', '\nExample:\n  escalon audit verify --job 0198…')
    .action(async (_flags, command: Command) => verify(await openSession<DecisionRange>(command, io)));
};

interface ReplayFlags {
  readonly at?: string;
  readonly file?: string;
}

const printReplay = async (id: string | undefined, session: Session<ReplayFlags>): Promise<void> => {
  const { io, output, flags } = session;
  const events = await recorded(id, session);
  // Loaded here: the other verbs need no domain.
  const { replayTo, stateNameOf } = await import('./replay.js');
  const replayed = orUsage(() => replayTo(events, flags.at));
  writeOne(io.out, output, replayed, () => table(replayed, stateNameOf(replayed.state)));
};

const recorded = async (
  id: string | undefined,
  { client, flags, io }: Session<ReplayFlags>,
): Promise<readonly RawEvent[]> => {
  if (flags.file !== undefined) {
    const text = await readText(flags.file, io.cwd);
    return orUsage(() => readExport(text));
  }
  if (id === undefined) throw usage('name a job, or an exported file with --file');
  return (await client.jobEvents(id)).items;
};

const orUsage = <Value>(attempt: () => Value): Value => {
  try {
    return attempt();
  } catch (error) {
    throw usage(error instanceof Error ? error.message : String(error));
  }
};

const table = ({ revision, at, event, state }: ReplayedState, name: string): string => {
  const executions = Object.values(state.executions);
  const rows = executions.map((one) => [one.executionId, String(one.attempt), one.nodeId, one.state]);
  const fields = renderFields([
    ['job', state.jobId],
    ['name', state.spec?.name],
    ['at', `revision ${revision}, ${event}, ${at}`],
    ['state', name],
    ['priority', String(state.priority)],
    ['decisions', String(state.decisions)],
    ['cancelled for', state.cancelRequested],
    ['ended', state.endedAt],
  ]);
  return rows.length === 0 ? fields : `${fields}\n${renderTable(['execution', 'attempt', 'node', 'state'], rows)}`;
};
