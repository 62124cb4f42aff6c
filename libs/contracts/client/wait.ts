import { pause } from '#kernel';
import type { Millis, Timers } from '#kernel';
import type { JobStateName } from '../vocabulary.js';
import { ProblemError, ServerUnreachable } from './http.js';
import type { JobView } from './views.js';

/** Milliseconds between two looks at a job. */
const LOOK_EVERY = 500;

const TERMINAL: readonly JobStateName[] = ['completed', 'failed', 'cancelled'];

/** Whether a job in this state stays in it. */
export const isTerminal = (state: JobStateName): boolean => TERMINAL.includes(state);

/** A server that is down or overloaded now may answer later. */
const mayPass = (error: unknown): boolean =>
  error instanceof ServerUnreachable || (error instanceof ProblemError && error.retryable);

/**
 * Looks at a job twice a second. Begins with a look at once; a failure that may pass counts as a look that saw nothing.
 * Ends when the job has, with the job; when `within` milliseconds are over, with the job as last seen (or the failure,
 * when it was never seen); when the signal is aborted, with its reason; and with any failure that will not pass.
 */
export const waitForEnd = async (
  look: (signal: AbortSignal) => Promise<JobView>,
  timers: Timers,
  { within, signal }: { readonly within?: Millis; readonly signal?: AbortSignal },
): Promise<JobView> => {
  const late = new AbortController();
  const timer = within === undefined ? undefined : timers.after(within, () => late.abort());
  const over = signal ? AbortSignal.any([signal, late.signal]) : late.signal;
  let seen: JobView | undefined;
  let failure: unknown;
  try {
    while (true) {
      try {
        seen = await look(over);
      } catch (error) {
        if (!over.aborted && !mayPass(error)) throw error;
        failure = failure !== undefined && over.aborted ? failure : error;
      }
      if (seen && isTerminal(seen.state)) return seen;
      await pause(timers, LOOK_EVERY, over);
      signal?.throwIfAborted();
      if (late.signal.aborted && seen) return seen;
      if (late.signal.aborted) throw failure;
    }
  } finally {
    timer?.cancel();
  }
};
