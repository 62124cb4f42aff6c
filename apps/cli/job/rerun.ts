import { usage } from '../exit-codes.js';
import { writeOne } from '../output/format.js';
import { setPath } from './set-path.js';
import { asUsage, twice } from './submit.js';
import { waitForAll } from './wait.js';
import type { EscalonClient } from '#contracts';
import type { Session } from '../client/session.js';

export interface RerunFlags {
  readonly wait?: boolean;
  /** Seconds. */
  readonly timeout?: number;
  readonly idempotencyKey?: string;
  readonly set: readonly string[];
}

/** Runs an ended job again as a new one, with the changes asked for. Prints the new id. */
export const rerun = async (id: string, session: Session<RerunFlags>): Promise<void> => {
  const { client, io, flags, output } = session;
  const changes = await changesOf(id, flags.set, client);
  const key = flags.idempotencyKey ?? io.ids.next();
  const answer = await twice(() => client.rerunJob(id, changes, { idempotencyKey: key })).catch((error: unknown) => {
    throw asUsage(error, id);
  });
  for (const warning of answer.warnings) io.err.write(`${id}: warning: ${warning}\n`);
  writeOne(io.out, output, answer, () => `${answer.id}\n`);
  if (flags.wait) await waitForAll([answer.id], session);
};

/** The fields of the job's file that assignments reach into, as they are after them. */
const changesOf = async (id: string, assignments: readonly string[], client: EscalonClient): Promise<object> => {
  if (assignments.length === 0) return {};
  const file = structuredClone((await client.getJob(id)).spec) as Record<string, unknown>;
  const touched = new Set(assignments.map((assignment) => /^[^.[=]*/.exec(assignment)?.[0] ?? ''));
  try {
    for (const assignment of assignments) setPath(file, assignment);
  } catch (error) {
    throw usage((error as Error).message);
  }
  return Object.fromEntries([...touched].map((name) => [name, file[name]]));
};
