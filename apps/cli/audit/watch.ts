import { ServerUnreachable } from '#contracts';
import { isBroken } from '../client/session.js';
import { EXIT, Exit } from '../exit-codes.js';
import { progressOn } from '../output/progress.js';
import type { AuditMessage } from '#contracts';
import type { Session } from '../client/session.js';

/** How a derivation ended, and what it found; findings are kept only for JSON, which is written whole. */
interface Watched<Found, Summary> {
  readonly summary: Summary;
  readonly findings: readonly Found[];
}

/** Follows a derivation with a bar for people, and writes each finding when it comes, unless all are written as one. */
export const watch = async <Found, Summary>(
  messages: AsyncIterable<AuditMessage<Found, Summary>>,
  { io, output }: Session<object>,
  textOf: (found: Found) => string,
): Promise<Watched<Found, Summary>> => {
  const progress = progressOn(io.err);
  const findings: Found[] = [];
  try {
    for await (const message of messages) {
      if (message.kind === 'end') return { summary: message.summary, findings };
      if (message.kind === 'progress') progress.at(message.fraction, `${message.decisions} decisions`);
      else if (output === 'json') findings.push(message.found);
      else {
        progress.stop();
        io.out.write(output === 'table' ? textOf(message.found) : `${JSON.stringify(message.found)}\n`);
      }
    }
  } catch (error) {
    throw brokeOff(error) ? new Exit(EXIT.failed, INCOMPLETE) : error;
  } finally {
    progress.stop();
  }
  throw new Error('the server gave no result');
};

const INCOMPLETE = 'error: the connection broke off before the end: the check is incomplete, run it again';

/** An answer that began and did not end; a server that cannot be reached at all has a cause. */
const brokeOff = (error: unknown): boolean =>
  isBroken(error) || (error instanceof ServerUnreachable && error.cause === undefined);
