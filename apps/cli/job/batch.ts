import { ProblemError, ServerUnreachable } from '#contracts';
import type { BatchAnswer, EscalonClient } from '#contracts';
import { pause } from '#kernel';
import type { Millis } from '#kernel';
import type { Io } from '../io.js';

/** Before each further try; after the last one what is still refused is told. A minute in all. */
const PAUSES: readonly Millis[] = [1_000, 2_000, 4_000, 8_000, 15_000, 15_000, 15_000];

type Items = BatchAnswer['items'];

/**
 * Submits jobs together until each is taken or refused for good. What a server could not store, and whatever it had no answer
 * for, is sent again after a growing pause, as the whole batch under the same key: what was stored before is answered as before,
 * so no job is there twice and the answers keep their order. Throws when not even the last try was answered.
 */
export const submitBatch = async (
  client: Pick<EscalonClient, 'submitJobs'>,
  jobs: readonly object[],
  key: string,
  { err, timers }: Pick<Io, 'err' | 'timers'>,
): Promise<Items> => {
  for (const delay of PAUSES) {
    const { items, trouble } = await post(client, jobs, key);
    if (trouble === undefined) return items;
    err.write(`${trouble}; trying again in ${delay / 1000} s\n`);
    await pause(timers, delay);
  }
  return (await client.submitJobs(jobs, { idempotencyKey: key })).body.items;
};

/** What came of one try, and in words why there should be another one. */
const post = async (
  client: Pick<EscalonClient, 'submitJobs'>,
  jobs: readonly object[],
  key: string,
): Promise<{ readonly items: Items; readonly trouble?: string }> => {
  try {
    const { items } = (await client.submitJobs(jobs, { idempotencyKey: key })).body;
    const again = items.flatMap((item) => ('problem' in item && item.problem.retryable ? [item.problem] : []));
    const [first] = again;
    return first
      ? { items, trouble: `${again.length} of ${items.length} jobs are not stored yet (${first.code})` }
      : { items };
  } catch (error) {
    const mayPass = error instanceof ServerUnreachable || (error instanceof ProblemError && error.retryable);
    if (!mayPass) throw error;
    return { items: [], trouble: error.message };
  }
};
