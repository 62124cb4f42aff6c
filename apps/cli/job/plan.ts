import { digestOf } from '../client/artifacts.js';
import { EXIT, Exit } from '../exit-codes.js';
import { writeEach } from '../output/format.js';
import { explained } from './explained.js';
import { withStoredInputs } from './job-file.js';
import { asUsage, readAll } from './submit.js';
import type { PlanView } from '#contracts';
import type { JobFile } from './job-file.js';
import type { Session } from '../client/session.js';

/** Asks what the scheduler would decide now for each file; nothing is stored, no input either. */
export const plan = async (names: readonly string[], session: Session<{ set: readonly string[] }>): Promise<void> => {
  const { client, io, output } = session;
  const files = await readAll(names, session);
  const each = writeEach(io.out, output, files.length);
  let never = false;
  for (const file of files) {
    const planned = await client.planJob(await withStoredInputs(file, digestOf)).catch((error: unknown) => {
      throw asUsage(error, file.name);
    });
    for (const warning of planned.warnings) io.err.write(`${file.name}: warning: ${warning}\n`);
    each.add(
      planned,
      () => `${file.name}: ${HEADS[planned.outcome]}\n${partitionLine(file, planned)}${explained(planned)}`,
    );
    never ||= planned.outcome === 'rejected';
  }
  each.end();
  if (never) throw new Exit(EXIT.neverPlaceable);
};

/** A plan is of one partition, and what it takes is not taken from what the others would find. */
const partitionLine = ({ job: { count } }: JobFile, { partition }: PlanView): string =>
  typeof count === 'number' && count > 1
    ? `  This is partition ${partition} of ${count}; the others are looked at one by one when submitted.\n`
    : '';

const HEADS: Readonly<Record<PlanView['outcome'], string>> = {
  placed: 'would be placed now',
  deferred: 'would wait',
  rejected: 'can never be placed as things are',
};
