import { writeOne } from '../output/format.js';
import { viewFields } from '../output/sections.js';
import type { Session } from '../client/session.js';

/** Asks for a change and prints the job as it is after it. */
export const changeJob = async (
  id: string,
  change: 'cancel' | 'pause' | 'resume',
  { api, io, flags, output }: Session<{ reason?: string }>,
): Promise<void> => {
  const body = flags.reason === undefined ? {} : { reason: flags.reason };
  const path = `/jobs/${encodeURIComponent(id)}/${change}`;
  const answer = await api.post<Record<string, unknown>>(path, body, { 'idempotency-key': io.ids.next() });
  writeOne(io.out, output, answer, () => viewFields(answer, ['id', 'state']));
};
