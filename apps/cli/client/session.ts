import { EscalonClient } from '#contracts';
import { findConnection } from '../connection.js';
import type { Command } from 'commander';
import type { ConnectionFlags } from '../connection.js';
import type { Io } from '../io.js';
import type { OutputFormat } from '../output/format.js';

/** What every verb that calls the API starts from. */
export interface Session<Flags> {
  readonly client: EscalonClient;
  readonly io: Io;
  readonly output: OutputFormat;
  readonly flags: Flags;
}

export const openSession = async <Flags extends object>(command: Command, io: Io): Promise<Session<Flags>> => {
  const flags = command.optsWithGlobals<Flags & ConnectionFlags & { output: OutputFormat }>();
  const client = new EscalonClient({ ...(await findConnection(flags, io)), timers: io.timers });
  return { client, io, output: flags.output, flags };
};

/** The first items of a list, read page by page as far as they are wanted. */
export const take = async <Item>(items: AsyncIterable<Item>, limit: number): Promise<Item[]> => {
  const taken: Item[] = [];
  if (limit === 0) return taken;
  for await (const item of items) {
    taken.push(item);
    if (taken.length >= limit) break;
  }
  return taken;
};
