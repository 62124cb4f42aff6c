import { findConnection } from '../connection.js';
import { Api } from './api.js';
import type { Command } from 'commander';
import type { ConnectionFlags } from '../connection.js';
import type { Io } from '../io.js';
import type { OutputFormat } from '../output/format.js';

/** What every verb that calls the API starts from. */
export interface Session<Flags> {
  readonly api: Api;
  readonly io: Io;
  readonly output: OutputFormat;
  readonly flags: Flags;
}

export const openSession = async <Flags extends object>(command: Command, io: Io): Promise<Session<Flags>> => {
  const flags = command.optsWithGlobals<Flags & ConnectionFlags & { output: OutputFormat }>();
  const api = new Api(await findConnection(flags, io), io.timers);
  return { api, io, output: flags.output, flags };
};
