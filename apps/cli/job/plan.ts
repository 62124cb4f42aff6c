import { digestOf } from '../client/artifacts.js';
import { EXIT, Exit } from '../exit-codes.js';
import { writeOne } from '../output/format.js';
import { explained } from './explained.js';
import { withStoredInputs } from './job-file.js';
import { asUsage, readAll } from './submit.js';
import type { PlanView } from '#contracts';
import type { Session } from '../client/session.js';

/** Asks what the scheduler would decide now for each file; nothing is stored, no input either. */
export const plan = async (names: readonly string[], session: Session<{ set: readonly string[] }>): Promise<void> => {
  const { client, io, output } = session;
  const files = await readAll(names, session);
  let never = false;
  for (const file of files) {
    const planned = await client.planJob(await withStoredInputs(file, digestOf)).catch((error: unknown) => {
      throw asUsage(error, file.name);
    });
    for (const warning of planned.warnings) io.err.write(`${file.name}: warning: ${warning}\n`);
    writeOne(io.out, output, planned, () => `${file.name}: ${HEADS[planned.outcome]}\n${explained(planned)}`);
    never ||= planned.outcome === 'rejected';
  }
  if (never) throw new Exit(EXIT.neverPlaceable);
};

const HEADS: Readonly<Record<PlanView['outcome'], string>> = {
  placed: 'would be placed now',
  deferred: 'would wait',
  rejected: 'can never be placed as things are',
};
