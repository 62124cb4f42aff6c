import { EscalonClient, ProblemError } from '#contracts';
import type { Millis, Timers } from '#kernel';

/** What a system starts with, so that the examples can be submitted at once: open to every account of it. */
const FIRST = { id: 'demo', config: { institution: 'local', members: ['*'] } };

const ATTEMPTS = 100;
const PAUSE: Millis = 200;

/** Makes the project `demo` in a system that has no project yet. A server that is not ready is asked again for a while. */
export const ensureFirstProject = async (
  url: string,
  token: string,
  timers: Timers,
  signal: AbortSignal,
): Promise<void> => {
  const client = new EscalonClient({ url, token, timers });
  for (let attempt = 1; ; attempt += 1) {
    try {
      const { done } = await client.projects().next();
      if (done === true) await client.putProject(FIRST.id, FIRST.config);
      return;
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ProblemError && error.retryable) || attempt === ATTEMPTS) throw error;
    }
    await new Promise<void>((resolve) => void timers.after(PAUSE, resolve));
  }
};
