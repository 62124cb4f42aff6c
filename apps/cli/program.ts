import { Command, CommanderError, Option } from 'commander';
import { EXIT, Exit } from './exit-codes.js';
import { OUTPUT_FORMATS } from './output/format.js';
import { addUp } from './up/command.js';
import type { Io } from './io.js';

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
    .showHelpAfterError('(--help shows how)');
  for (const add of [addUp]) add(program, io);
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
    await createProgram(io).parseAsync(argv, { from: 'user' });
    return EXIT.done;
  } catch (error) {
    return explain(error, io);
  }
};

const explain = (error: unknown, io: Io): number => {
  // Commander has said it already; help and version are no mistakes.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
  if (error instanceof Exit) {
    if (error.message !== '') io.err.write(`${error.message}\n`);
    return error.code;
  }
  io.err.write(`${error instanceof Error && io.env.ESCALON_DEBUG ? error.stack : `error: ${messageOf(error)}`}\n`);
  return EXIT.failed;
};

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
