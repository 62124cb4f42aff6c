import { EXIT, Exit } from '../exit-codes.js';
import { watch } from './watch.js';
import type { DecisionRange, DifferingDecision, VerificationSummary } from '#contracts';
import type { Session } from '../client/session.js';

/** Has the server derive recorded decisions again. Ends with exit code 1 when any comes out otherwise. */
export const verify = async (session: Session<DecisionRange>): Promise<void> => {
  const { client, io, output, flags } = session;
  const { job, from, to } = flags;
  const range = {
    ...(job !== undefined && { job }),
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
  };
  const { summary, findings } = await watch(client.verifyDecisions(range), session, differenceText);
  const counts = countsOf(summary);
  if (output === 'json') io.out.write(`${JSON.stringify({ ...summary, differences: findings }, null, 2)}\n`);
  else if (output === 'table') io.out.write(`${counts}\n`);
  else io.err.write(`${counts}\n`);
  if (summary.differing > 0) throw new Exit(EXIT.failed, 'the record and the decisions do not agree');
};

const countsOf = ({ verified, otherVersion, differing, versions }: VerificationSummary): string => {
  const others = Object.entries(versions).map(([version, count]) => `${count} by ${version}`);
  const which = others.length > 0 ? ` (${others.join(', ')})` : '';
  return `${verified} verified, ${otherVersion} by another version${which}, ${differing} differing`;
};

const differenceText = ({ jobId, number, position, differences, more }: DifferingDecision): string => {
  const lines = differences.map(
    ({ path, recorded, derived }) => `  ${path || '/'}: ${JSON.stringify(recorded)} → ${JSON.stringify(derived)}\n`,
  );
  const rest = more > 0 ? `  and ${more} more\n` : '';
  const what = number === null ? 'the change of nodes' : `decision ${number}`;
  return `${what} of ${jobId}, at position ${position}: recorded → derived\n${lines.join('')}${rest}`;
};
