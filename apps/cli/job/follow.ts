import { ProblemError, ServerUnreachable } from '#contracts';
import { EXIT } from '../exit-codes.js';
import type { EscalonClient } from '#contracts';
import type { Clock, Millis, Timers } from '#kernel';
import type { ExitCode } from '../exit-codes.js';
import type { Progress } from '../output/progress.js';

export interface FollowPorts {
  readonly client: EscalonClient;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly progress: Progress;
}

export interface FollowOptions {
  /** Milliseconds to wait at most; for ever when absent. */
  readonly timeout?: Millis;
  /** Put before each line, when several jobs are followed at once. */
  readonly prefix?: string;
  /** Called after each look, for who wants to look at more. */
  readonly onLook?: () => Promise<void>;
}

/** One movement of a job, as the timeline tells it. */
export interface Movement {
  readonly revision: string;
  readonly at: string;
  readonly type: string;
  /** A sentence without its full stop. */
  readonly title: string;
  readonly data: Readonly<Record<string, unknown>>;
}

const FIRST_PAUSE: Millis = 150;
const LONGEST_PAUSE: Millis = 2_000;

/**
 * Prints what happens to a job until it ends, and answers with the exit code for its end.
 *
 * *Following*: asks for the job's timeline again and again; the pause grows from 0.15 s to 2 s while nothing happens, and
 * is short again after each movement. A server that does not answer is asked again: the wait outlives its restart. It ends
 * with the job's end, with a decision that the job can never be placed, with all of a job running that never ends by itself
 * (a service or a daemon), or when `timeout` is over.
 */
export const followJob = async (id: string, ports: FollowPorts, options: FollowOptions = {}): Promise<ExitCode> => {
  const { clock, timers } = ports;
  const end = clock.now() + (options.timeout ?? Number.POSITIVE_INFINITY);
  let seen = 0;
  let pause = FIRST_PAUSE;
  while (true) {
    const movements = (await unlessPassing(() => movementsOf(ports.client, id), ports)) ?? [];
    for (const movement of movements.slice(seen)) tell(movement, ports.progress, options.prefix ?? '');
    await options.onLook?.();
    const moved = movements.length > seen;
    const code = exitCodeOf(movements) ?? (moved ? await whenAllRun(id, movements, ports) : undefined);
    if (code !== undefined) return code;
    pause = moved ? FIRST_PAUSE : Math.min(pause * 1.5, LONGEST_PAUSE);
    seen = Math.max(seen, movements.length);
    const left = end - clock.now();
    if (left <= 0) return EXIT.timeout;
    await new Promise<void>((resolve) => void timers.after(Math.min(pause, left), resolve));
  }
};

/** Everything that happened to a job, oldest first. */
export const movementsOf = async (client: EscalonClient, id: string): Promise<readonly Movement[]> =>
  (await client.timeline(id)).items as readonly Movement[];

/** The answer, or nothing from a server that does not answer at the moment. */
const unlessPassing = async <Answer>(
  ask: () => Promise<Answer>,
  { progress }: FollowPorts,
): Promise<Answer | undefined> => {
  try {
    return await ask();
  } catch (error) {
    const passing = error instanceof ServerUnreachable || (error instanceof ProblemError && error.retryable);
    if (!passing) throw error;
    progress.line(`${error.message}; asking again`);
    return undefined;
  }
};

const tell = ({ type, at, title, data }: Movement, progress: Progress, prefix: string): void => {
  progress.line(`${prefix}${at.slice(11, 19)}  ${title}`);
  if (type === 'ExecutionProgressed') progress.at(Number(data.fraction), String(data.message));
};

/** The code for a job that does not end by itself, when all of it runs: there is nothing more to wait for. */
const whenAllRun = async (
  id: string,
  movements: readonly Movement[],
  ports: FollowPorts,
): Promise<ExitCode | undefined> => {
  const type = movements.find((movement) => movement.type === 'JobSubmitted')?.data.type;
  if (type !== 'service' && type !== 'daemon') return undefined;
  const job = await unlessPassing(() => ports.client.getJob(id), ports);
  if (!job) return undefined;
  const { state, count, liveRunning } = job;
  if (state !== 'running' || Number(count) === 0 || liveRunning !== count) return undefined;
  ports.progress.line(`all ${String(count)} of it run; a ${type} does not end by itself`);
  return EXIT.done;
};

/** The code that stands for how the job ended; undefined while it may still come to something. */
export const exitCodeOf = (movements: readonly Movement[]): ExitCode | undefined => {
  const last = movements.findLast(({ type }) => ENDS.has(type) || type === 'PlacementDecided');
  if (last?.type === 'PlacementDecided') {
    // What the node of one part can never run says nothing of the others.
    const ruledOut = last.data.outcome === 'rejected' && last.data.target === undefined;
    return ruledOut ? EXIT.neverPlaceable : undefined;
  }
  return last && ENDS.get(last.type);
};

const ENDS = new Map<string, ExitCode>([
  ['JobCompleted', EXIT.done],
  ['JobFailed', EXIT.jobFailed],
  ['JobCancelled', EXIT.jobCancelled],
]);
