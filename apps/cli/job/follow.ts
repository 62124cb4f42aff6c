import { ApiProblem, ServerUnreachable } from '../client/api.js';
import { EXIT } from '../exit-codes.js';
import { eventLine, timeOf } from './event-line.js';
import type { Clock, Millis, Timers } from '#kernel';
import type { Api } from '../client/api.js';
import type { ExitCode } from '../exit-codes.js';
import type { Progress } from '../output/progress.js';
import type { RawEvent } from './raw-event.js';

export interface FollowPorts {
  readonly api: Api;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly progress: Progress;
}

export interface FollowOptions {
  /** Milliseconds to wait at most; for ever when absent. */
  readonly timeout?: Millis;
  /** Put before each line, when several jobs are followed at once. */
  readonly prefix?: string;
}

const FIRST_PAUSE: Millis = 150;
const LONGEST_PAUSE: Millis = 2_000;

/**
 * Prints what happens to a job until it ends, and answers with the exit code for its end.
 *
 * *Following*: asks for the job's events again and again; the pause grows from 0.15 s to 2 s while nothing happens, and is
 * short again after each event. A server that does not answer is asked again: the wait outlives its restart. It ends with
 * the job's end, with a decision that the job can never be placed, or when `timeout` is over.
 */
export const followJob = async (id: string, ports: FollowPorts, options: FollowOptions = {}): Promise<ExitCode> => {
  const { clock, timers } = ports;
  const end = clock.now() + (options.timeout ?? Number.POSITIVE_INFINITY);
  let seen = 0;
  let pause = FIRST_PAUSE;
  while (true) {
    const events = await eventsOrNothing(id, ports);
    for (const event of events.slice(seen)) tell(event, ports.progress, options.prefix ?? '');
    const code = exitCodeOf(events);
    if (code !== undefined) return code;
    pause = events.length > seen ? FIRST_PAUSE : Math.min(pause * 1.5, LONGEST_PAUSE);
    seen = Math.max(seen, events.length);
    const left = end - clock.now();
    if (left <= 0) return EXIT.timeout;
    await new Promise<void>((resolve) => void timers.after(Math.min(pause, left), resolve));
  }
};

/** Every event of the job, oldest first. */
export const eventsOf = async (api: Api, id: string): Promise<readonly RawEvent[]> =>
  (await api.get<{ items: readonly RawEvent[] }>(`/jobs/${encodeURIComponent(id)}/events`)).items;

const eventsOrNothing = async (id: string, { api, progress }: FollowPorts): Promise<readonly RawEvent[]> => {
  try {
    return await eventsOf(api, id);
  } catch (error) {
    const passing = error instanceof ServerUnreachable || (error instanceof ApiProblem && error.problem.retryable);
    if (!passing) throw error;
    progress.line(`${error.message}; asking again`);
    return [];
  }
};

const tell = (event: RawEvent, progress: Progress, prefix: string): void => {
  if (event.type === 'ExecutionProgressed') progress.at(event.data.fraction, event.data.message);
  progress.line(`${prefix}${timeOf(event.recordedAt)}  ${eventLine(event)}`);
};

/** The code that stands for how the job ended; undefined while it may still come to something. */
export const exitCodeOf = (events: readonly RawEvent[]): ExitCode | undefined => {
  const last = events.findLast(({ type }) => ENDS.has(type) || type === 'PlacementDecided');
  if (last?.type === 'PlacementDecided') return last.data.outcome === 'rejected' ? EXIT.neverPlaceable : undefined;
  return last && ENDS.get(last.type);
};

const ENDS = new Map<RawEvent['type'], ExitCode>([
  ['JobCompleted', EXIT.done],
  ['JobFailed', EXIT.jobFailed],
  ['JobCancelled', EXIT.jobCancelled],
]);
