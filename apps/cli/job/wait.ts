import { EXIT, Exit } from '../exit-codes.js';
import { progressOn } from '../output/progress.js';
import { followJob } from './follow.js';
import type { Session } from '../client/session.js';
import type { ExitCode } from '../exit-codes.js';

export interface WaitFlags {
  /** Seconds. */
  readonly timeout?: number;
}

/** Waits for all of the jobs, telling what happens; ends with the code of the first that did not complete. */
export const waitForAll = async (ids: readonly string[], session: Session<WaitFlags>): Promise<void> => {
  const { client, io, flags } = session;
  const progress = progressOn(io.err);
  const ports = { client, clock: io.clock, timers: io.timers, progress };
  const timeout = flags.timeout === undefined ? {} : { timeout: flags.timeout * 1000 };
  try {
    const codes = await Promise.all(
      ids.map((id) => followJob(id, ports, { ...timeout, ...(ids.length > 1 ? { prefix: `${id.slice(-8)}  ` } : {}) })),
    );
    const code = codes.find((each) => each !== EXIT.done) ?? EXIT.done;
    if (code !== EXIT.done) throw new Exit(code, SAID[code]);
  } finally {
    progress.stop();
  }
};

/** What the last line has not said already. */
const SAID: Readonly<Partial<Record<ExitCode, string>>> = {
  [EXIT.neverPlaceable]: 'no node here can ever run this; `escalon job explain` says why',
  [EXIT.timeout]: 'waited long enough; the job goes on',
};
