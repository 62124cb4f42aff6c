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

/** The server sends no larger page. */
const LARGEST_PAGE = 200;

/**
 * The first items of a list, read page by page as far as they are wanted. A list moves while it is read, so an item may come
 * again: it is taken once, and when everything so far, or a whole page, comes again with nothing new, the list is over.
 */
export const take = async <Item extends { readonly id?: string; readonly jobId?: string }>(
  items: AsyncIterable<Item>,
  limit: number,
): Promise<Item[]> => {
  const taken = new Map<string, Item>();
  let repeated = 0;
  for await (const item of items) {
    const key = item.id ?? item.jobId ?? JSON.stringify(item);
    repeated = taken.has(key) ? repeated + 1 : 0;
    if (repeated === 0) taken.set(key, item);
    if (taken.size >= limit || repeated >= Math.min(taken.size, LARGEST_PAGE)) break;
  }
  return [...taken.values()];
};

/** Whether a connection broke inside an answer: all that fetch says of it is a `TypeError` with this one word. */
export const isBroken = (error: unknown): boolean => {
  const { name, message } = error as Partial<Error>;
  return name === 'TypeError' && message === 'terminated';
};
