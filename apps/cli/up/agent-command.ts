import type { Command } from 'commander';
import type { Io } from '../io.js';

/** The verb as the list of verbs shows it. `run` hands it over before the command line is parsed: see `agent.ts`. */
export const addAgent = (program: Command, _io: Io): void => {
  program.command('agent').summary('run an agent for this machine');
};
