import { digestOf } from '../client/artifacts.js';
import { EXIT, Exit } from '../exit-codes.js';
import { writeEach } from '../output/format.js';
import { explained } from './explained.js';
import { withoutReferences, withStoredInputs } from './job-file.js';
import { asUsage, readAll } from './submit.js';
import type { PlanView } from '#contracts';
import type { Session } from '../client/session.js';

/** Asks what the scheduler would decide now for each job, as if others of its file had ended; nothing is stored, no input either. */
export const plan = async (names: readonly string[], session: Session<{ set: readonly string[] }>): Promise<void> => {
  const { client, io, output } = session;
  const files = (await readAll(names, session)).flat();
  const each = writeEach(io.out, output, files.length);
  let never = false;
  for (const file of files) {
    const planned = await client
      .planJob(withoutReferences(await withStoredInputs(file, digestOf)))
      .catch((error: unknown) => {
        throw asUsage(error, file.name);
      });
    for (const warning of planned.warnings) io.err.write(`${file.name}: warning: ${warning}\n`);
    each.add(planned, () => `${file.name}: ${HEADS[planned.outcome]}\n${partitionLines(planned)}${explained(planned)}`);
    never ||= planned.outcome === 'rejected';
  }
  each.end();
  if (never) throw new Exit(EXIT.neverPlaceable);
};

/** How many partitions could start now, and what keeps the rest; what follows is of one of them. */
const partitionLines = ({ dryRun, partition }: PlanView): string => {
  if (!dryRun) return '';
  const { partitions, startNow, tried, rest } = dryRun;
  const of = tried < partitions ? `the first ${String(tried)} of ${String(partitions)}` : String(partitions);
  const lines = [`${String(startNow)} of ${of} partitions could start now.`];
  if (rest) {
    const { requested, available, suitable, reasons } = rest;
    lines.push(`Nodes: ${String(requested)} requested, ${String(available)} available, ${String(suitable)} suitable.`);
    for (const { nodes, text, retryable, changedBy } of reasons) {
      const change = retryable ? 'may change by itself' : 'only the node or the job can change it';
      const events = changedBy.length > 0 ? `; looked at on ${changedBy.join(', ')}` : '';
      lines.push(`  ${String(nodes)}: ${text} (${change}${events})`);
    }
  }
  lines.push(`Of partition ${String(partition)} by itself:`);
  return lines.map((line) => `  ${line}\n`).join('');
};

const HEADS: Readonly<Record<PlanView['outcome'], string>> = {
  placed: 'would be placed now',
  deferred: 'would wait',
  rejected: 'can never be placed as things are',
};
