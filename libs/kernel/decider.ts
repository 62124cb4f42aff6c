/**
 * The three pure functions of an aggregate.
 *
 * `decide` sees a command and the present state and answers either the events that follow or the reason why not; it
 * never throws for an expected refusal. `evolve` folds one event into the state and accepts every event that was ever
 * stored. Neither reads a clock, a random source or the outside: what they need comes in with the command.
 */
export interface Decider<Command, Event, State> {
  readonly initialState: () => State;
  readonly decide: (command: Command, state: State) => Decision<Event>;
  readonly evolve: (state: State, event: Event) => State;
}

/** What a decider answers: events to store (none means "already so"), or a refusal as a value. */
export type Decision<Event> = Accepted<Event> | Rejected;

export interface Accepted<Event> {
  readonly kind: 'accepted';
  readonly events: readonly Event[];
}

export interface Rejected {
  readonly kind: 'rejected';
  readonly rejection: Rejection;
}

/**
 * An expected refusal. `code` is stable and listed in the problem registry of `contracts`; `message` is for people and
 * names the values compared; `details` are for programs.
 */
export interface Rejection {
  readonly code: string;
  readonly message: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

export const accept = <Event>(...events: readonly Event[]): Accepted<Event> => ({ kind: 'accepted', events });

export const reject = (code: string, message: string, details?: Readonly<Record<string, unknown>>): Rejected => ({
  kind: 'rejected',
  rejection: details === undefined ? { code, message } : { code, message, details },
});

/** Folds a history from the start, or from a state already reached. */
export const fold = <Event, State>(
  decider: Pick<Decider<never, Event, State>, 'initialState' | 'evolve'>,
  events: Iterable<Event>,
  from: State = decider.initialState(),
): State => {
  let state = from;
  for (const event of events) state = decider.evolve(state, event);
  return state;
};
