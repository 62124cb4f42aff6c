import { writeOne } from '../output/format.js';
import { viewFields } from '../output/sections.js';
import type { EscalonClient, JobView, WriteOptions, Written } from '#contracts';
import type { Session } from '../client/session.js';

export type Change = 'cancel' | 'pause' | 'resume';

/** Asks for a change and prints the job as it is after it. */
export const changeJob = async (id: string, change: Change, session: Session<{ reason?: string }>): Promise<void> => {
  const { client, io, flags, output } = session;
  const options = { idempotencyKey: io.ids.next() };
  const { body } = await CHANGES[change](client, id, flags.reason ?? '', options);
  writeOne(io.out, output, body, () => viewFields(body, ['id', 'state']));
};

const CHANGES: Readonly<
  Record<
    Change,
    (client: EscalonClient, id: string, reason: string, options: WriteOptions) => Promise<Written<JobView>>
  >
> = {
  cancel: (client, id, reason, options) => client.cancelJob(id, reason, options),
  pause: (client, id, reason, options) => client.pauseJob(id, reason, options),
  resume: (client, id, _reason, options) => client.resumeJob(id, options),
};
