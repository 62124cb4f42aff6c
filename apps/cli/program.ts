import { Command, CommanderError, Option } from 'commander';
import { ProblemError, ServerUnreachable } from '#contracts';
import { EXIT, Exit } from './exit-codes.js';
import { refuseEmpty } from './given.js';
import { isBroken } from './client/session.js';
import { OUTPUT_FORMATS } from './output/format.js';
import { addAudit } from './audit/command.js';
import { addWhatIf } from './audit/what-if.js';
import { addAgent } from './up/agent-command.js';
import { addDemo } from './demo/command.js';
import { addJob } from './job/command.js';
import { addNode } from './node/command.js';
import { addPool } from './pool/command.js';
import { addSimulate } from './simulate/command.js';
import { addProject } from './system/projects.js';
import { addProjections } from './system/projections.js';
import { addQueue } from './system/queue.js';
import { addToken } from './system/tokens.js';
import { addUp } from './up/command.js';
import type { Io } from './io.js';

const VERBS = [
  addUp,
  addAgent,
  addDemo,
  addJob,
  addQueue,
  addNode,
  addPool,
  addAudit,
  addWhatIf,
  addProjections,
  addSimulate,
  addProject,
  addToken,
];

/** The whole command line over `io`. */
export const createProgram = (io: Io): Command => {
  const program = new Command('escalon')
    .description('Submits jobs to Escalon, shows why they run where they run, and runs the system itself.')
    .option('--url <url>', 'address of the API (default: ESCALON_URL, else the local system)')
    .option('--token <token>', 'bearer token (default: ESCALON_TOKEN, else the local system’s)')
    .option('--data <folder>', 'folder of the local system (default: ESCALON_DATA, else .escalon)')
    .addOption(new Option('--output <format>', 'how data is written').choices(OUTPUT_FORMATS).default('table'))
    .addHelpText(
      'after',
      '\nExit codes: 0 done, 1 failed, 2 usage, 3 job failed, 4 cancelled, 5 never placeable, 124 timeout',
    )
    .showHelpAfterError('(--help shows how)')
    .hook('preAction', (_program, command) => refuseEmpty(command));
  for (const add of VERBS) add(program, io);
  for (const command of everyCommand(program)) {
    command.exitOverride();
    command.configureOutput({ writeOut: (text) => io.out.write(text), writeErr: (text) => io.err.write(text) });
  }
  return program;
};

function* everyCommand(command: Command): Generator<Command> {
  yield command;
  for (const inner of command.commands) yield* everyCommand(inner);
}

/** Runs one command line (without program names) and answers the exit code. */
export const run = async (argv: readonly string[], io: Io): Promise<number> => {
  try {
    if (argv[0] === 'agent') return await agent(argv.slice(1), io);
    await createProgram(io).parseAsync(argv, { from: 'user' });
    return EXIT.done;
  } catch (error) {
    return explain(error, io);
  }
};

/** The agent reads its own options, some of them named like ours, so they are not parsed here. */
const agent = async (args: readonly string[], io: Io): Promise<number> => {
  const { runAgent } = await import('./up/agent.js');
  return runAgent(args, io);
};

const explain = (error: unknown, io: Io): number => {
  // Commander has said it already; help and version are no mistakes.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
  if (error instanceof ProblemError) return explainProblem(error, io);
  if (error instanceof Exit) {
    if (error.message !== '') io.err.write(`${error.message}\n`);
    return error.code;
  }
  if (error instanceof ServerUnreachable) io.err.write('`escalon up` starts the system on this machine\n');
  io.err.write(`${error instanceof Error && io.env.ESCALON_DEBUG ? error.stack : `error: ${messageOf(error)}`}\n`);
  return EXIT.failed;
};

/** What the server refused: its words, each mistake, and what can be done. */
const explainProblem = ({ problem, code, errors, message }: ProblemError, io: Io): number => {
  io.err.write(`error: ${message} (${code})\n`);
  for (const { pointer, message: mistake } of errors) io.err.write(`  ${pointer || '/'}: ${mistake}\n`);
  if (problem.hint) io.err.write(`${problem.hint}\n`);
  return code === 'VALIDATION_FAILED' ? EXIT.usage : EXIT.failed;
};

const messageOf = (error: unknown): string => {
  if (isBroken(error)) return 'the connection broke before the answer was complete';
  return error instanceof Error ? error.message : String(error);
};
