import assert from 'node:assert/strict';
import { fold } from '#kernel';
import type { Decider, Decision } from '#kernel';

/** Given a history, when a command comes, then these events follow (or a refusal, or a state). */
export interface DeciderSpec<Command, Event, State> {
  /** The events that happened before; none for an aggregate that does not exist yet. */
  given(...history: readonly Event[]): Given<Command, Event, State>;
  /** The history that these commands make, each of which must be accepted. */
  after(...commands: readonly Command[]): Given<Command, Event, State>;
}

export interface Given<Command, Event, State> {
  readonly history: readonly Event[];
  readonly state: State;
  when(command: Command): When<Event, State>;
}

export interface When<Event, State> {
  /** Exactly these events, in this order; none means that the command changes nothing. */
  then(...events: readonly Event[]): void;
  /** Events of exactly these types, in this order, where the details are not the point. */
  thenTypes(...types: readonly string[]): void;
  /** Refused with this code, in words, without an event. */
  thenRejected(code: string): void;
  /** Accepted, and the state that follows is as the predicate says. */
  thenState(predicate: (state: State) => boolean): void;
  /** What was decided and what it leads to, for a closer look. */
  readonly decision: Decision<Event>;
  readonly events: readonly Event[];
  readonly state: State;
}

/**
 * Given/when/then for one decider. It fails with an `AssertionError` that shows both sides, so it works under any test
 * runner.
 */
export const deciderSpec = <Command, Event extends { readonly type: string }, State>(
  decider: Decider<Command, Event, State>,
): DeciderSpec<Command, Event, State> => {
  const given = (...history: readonly Event[]): Given<Command, Event, State> => {
    const state = fold(decider, history);
    return { history, state, when: (command) => outcome(decider, state, decider.decide(command, state)) };
  };
  const after = (...commands: readonly Command[]): Given<Command, Event, State> => {
    const history: Event[] = [];
    let state = decider.initialState();
    for (const command of commands) {
      const events = accepted(decider.decide(command, state));
      history.push(...events);
      state = fold(decider, events, state);
    }
    return given(...history);
  };
  return { given, after };
};

const accepted = <Event>(decision: Decision<Event>): readonly Event[] => {
  if (decision.kind === 'accepted') return decision.events;
  return assert.fail(`refused with ${decision.rejection.code}: ${decision.rejection.message}`);
};

const outcome = <Command, Event extends { readonly type: string }, State>(
  decider: Decider<Command, Event, State>,
  before: State,
  decision: Decision<Event>,
): When<Event, State> => {
  const events = decision.kind === 'accepted' ? decision.events : [];
  const state = fold(decider, events, before);
  return {
    decision,
    events,
    state,
    then: (...expected) => assert.deepEqual(accepted(decision), expected),
    thenTypes: (...types) =>
      assert.deepEqual(
        accepted(decision).map(({ type }) => type),
        types,
      ),
    thenRejected: (code) => {
      assert.equal(decision.kind, 'rejected', `accepted, with ${events.map(({ type }) => type).join(', ')}`);
      assert.equal(decision.rejection.code, code);
      assert.notEqual(decision.rejection.message, '', 'a refusal says in words what is wrong');
    },
    thenState: (predicate) => {
      accepted(decision);
      assert.ok(predicate(state), `not the state expected: ${JSON.stringify(state, undefined, 2)}`);
    },
  };
};
