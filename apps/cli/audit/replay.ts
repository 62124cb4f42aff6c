import { upcastRecorded } from '#contracts';
import { jobDecider, jobStateName } from '#jobs';
import { toInstant, toMillis } from '#kernel';
import type { JobEvent, JobState, JobStateName } from '#jobs';
import type { RawEvent } from '#contracts';

/** The job as it was right after one of its events. */
export interface ReplayedState {
  /** Of the last event that is folded in. */
  readonly revision: string;
  readonly at: string;
  readonly event: string;
  readonly state: JobState;
}

/** The one word for the job in this state. */
export const stateNameOf = (state: JobState): JobStateName => jobStateName(state);

/** Folds the events one by one with the domain's own `evolve`, as the server does; one state for each. */
export function* replay(events: readonly RawEvent[]): Generator<ReplayedState> {
  let state = jobDecider.initialState();
  for (const event of events) {
    const { type, data } = upcastRecorded(event);
    state = jobDecider.evolve(state, { type, data } as JobEvent);
    yield { revision: event.revision, at: event.recordedAt, event: event.type, state };
  }
}

/**
 * The state at a moment: a revision (`7`) or an instant (`2026-11-29T20:11:05Z`, the state that was true then). Without one,
 * the last. Throws when there was no state yet or no such revision.
 */
export const replayTo = (events: readonly RawEvent[], moment?: string): ReplayedState => {
  const until = moment === undefined ? () => true : isUntil(moment);
  let found: ReplayedState | undefined;
  for (const replayed of replay(events)) if (until(replayed)) found = replayed;
  if (!found) throw new Error(`the job did not exist yet at ${moment ?? 'its first event'}`);
  if (moment !== undefined && isRevision(moment) && BigInt(moment) > BigInt(found.revision)) {
    throw new Error(`the job has no revision ${moment}; its last is ${found.revision}`);
  }
  return found;
};

const isRevision = (moment: string): boolean => /^\d{1,19}$/.test(moment);

const isUntil = (moment: string): ((replayed: ReplayedState) => boolean) => {
  if (isRevision(moment)) return ({ revision }) => BigInt(revision) <= BigInt(moment);
  const millis = toMillis(moment);
  if (Number.isNaN(millis)) throw new Error(`${moment} is neither a revision nor a time such as 2026-11-29T20:11:05Z`);
  const instant = toInstant(millis);
  return ({ at }) => at <= instant;
};
